//! A bundle that speaks.

use std::ffi::CString;
use std::mem::size_of;
use std::ops::ControlFlow;
use std::os::raw::c_int;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use crate::audio::Audio;
use crate::error::{c_string, Error};
use crate::header::{kokoro_bundle, kokoro_options, ErrorCode, Functions};
use crate::library;
use crate::live::Live;
use crate::pieces::Pieces;
use crate::request::Request;
use crate::take::hand_on;

/// How to load a bundle.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    library: Option<PathBuf>,
    threads: u16,
    skip_verify: bool,
    level: Option<String>,
    arithmetic: Option<String>,
    manifest_sha256: Option<String>,
}

impl LoadOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Path of the C library; by default the bundle's own, in its directory `native`, which runs unchecked.
    pub fn library(self, library: impl Into<PathBuf>) -> Self {
        Self { library: Some(library.into()), ..self }
    }

    /// Number of threads that compute; by default `TVM_NUM_THREADS`, or else all cores of this process.
    pub fn threads(self, threads: u16) -> Self {
        Self { threads, ..self }
    }

    /// False compares libraries and voices as they are read, and nothing else.
    pub fn verify(self, verify: bool) -> Self {
        Self { skip_verify: !verify, ..self }
    }

    /// The only CPU level to use; by default the best of this processor.
    pub fn level(self, level: impl Into<String>) -> Self {
        Self { level: Some(level.into()), ..self }
    }

    /// In place of `level`: arithmetic of the decoder, such as `bfloat16`, if the bundle has it; by default float32.
    pub fn arithmetic(self, arithmetic: impl Into<String>) -> Self {
        Self { arithmetic: Some(arithmetic.into()), ..self }
    }

    /// Digest that the manifest must have: pins this very bundle. It needs `library`, a copy that the app ships.
    pub fn manifest_sha256(self, digest: impl Into<String>) -> Self {
        Self { manifest_sha256: Some(digest.into()), ..self }
    }
}

/// The handle of a bundle, which is freed when nothing uses it.
pub(crate) struct Handle {
    pub(crate) functions: Arc<Functions>,
    pub(crate) pointer: *mut kokoro_bundle,
}

// SAFETY: every function may be called from any thread, with the same bundle.
unsafe impl Send for Handle {}
// SAFETY: the same.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle is the library's.
        unsafe { (self.functions.kokoro_free)(self.pointer) }
    }
}

/// A bundle that speaks. Clones share it; it is freed with the last of them, and of its speeches.
///
/// Every thread may use it. Calls on one bundle take turns.
#[derive(Clone)]
pub struct Bundle {
    handle: Arc<Handle>,
}

impl Bundle {
    /// Verifies and loads the bundle in a directory.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_with(directory, &LoadOptions::new())
    }

    /// Verifies and loads the bundle in a directory.
    pub fn load_with(directory: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, Error> {
        if options.manifest_sha256.is_some() && options.library.is_none() {
            let message =
                "manifest_sha256 needs LoadOptions::library: the bundle's own library would run before anything \
                           is compared, so ship another copy of it with the app, and name that.";
            return Err(Error::new(ErrorCode::UsageError, message));
        }
        let directory = directory.as_ref();
        let own = || directory.join("native").join(library::NAME);
        let functions = Arc::new(library::open(&options.library.clone().unwrap_or_else(own))?);
        let given =
            |what, value: &Option<String>| value.as_ref().map(|text| c_string(what, text.as_bytes())).transpose();
        let pointer = |value: &Option<CString>| value.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let level = given("level", &options.level)?;
        let arithmetic = given("arithmetic", &options.arithmetic)?;
        let digest = given("digest", &options.manifest_sha256)?;
        let made = kokoro_options {
            size: size_of::<kokoro_options>(),
            threads: c_int::from(options.threads),
            skip_verify: c_int::from(options.skip_verify),
            level: pointer(&level),
            manifest_sha256: pointer(&digest),
            arithmetic: pointer(&arithmetic),
        };
        let place = c_string("path of the bundle", directory.as_os_str().as_bytes())?;
        let mut bundle = ptr::null_mut();
        // SAFETY: the strings and structs live.
        functions.check(unsafe { (functions.kokoro_load)(place.as_ptr(), &made, &mut bundle) })?;
        Ok(Self { handle: Arc::new(Handle { functions, pointer: bundle }) })
    }

    /// The version of the C library, such as `0.1.0`.
    pub fn library_version(&self) -> String {
        // SAFETY: the string is a constant.
        unsafe { library::text((self.functions().kokoro_version)()) }
    }

    /// The name of the model.
    pub fn model(&self) -> String {
        // SAFETY: the string lives as long as the bundle.
        unsafe { library::text((self.functions().kokoro_model_name)(self.pointer())) }
    }

    /// True if the weights are random and the bundle babbles; an app then tells its user.
    pub fn is_synthetic(&self) -> bool {
        // SAFETY: the bundle lives.
        unsafe { (self.functions().kokoro_is_synthetic)(self.pointer()) != 0 }
    }

    /// The CPU level in use.
    pub fn level(&self) -> String {
        // SAFETY: the string lives as long as the bundle.
        unsafe { library::text((self.functions().kokoro_level)(self.pointer())) }
    }

    /// The most phonemes that are spoken at once; longer input is split.
    pub fn max_phonemes(&self) -> usize {
        // SAFETY: the bundle lives.
        unsafe { (self.functions().kokoro_max_phonemes)(self.pointer()) }
    }

    /// The names of the voices.
    pub fn voices(&self) -> Vec<String> {
        // SAFETY: the bundle lives.
        let count = unsafe { (self.functions().kokoro_voice_count)(self.pointer()) };
        // SAFETY: the strings live as long as the bundle.
        let name = |index| unsafe { library::text((self.functions().kokoro_voice_name)(self.pointer(), index)) };
        (0..count).map(name).collect()
    }

    /// Returns the error that [`speak`](Self::speak) would return before it computes.
    pub fn check(&self, request: &Request) -> Result<(), Error> {
        // SAFETY: the bundle and the request live.
        let check = |request| unsafe { (self.functions().kokoro_check)(self.pointer(), request) };
        self.functions().check(request.with_c(check)?)
    }

    /// Speaks the whole input.
    pub fn speak(&self, request: &Request) -> Result<Audio, Error> {
        let mut audio = ptr::null_mut();
        // SAFETY: the bundle and the request live.
        let speak = |request| unsafe { (self.functions().kokoro_synthesize)(self.pointer(), request, &mut audio) };
        self.functions().check(request.with_c(speak)?)?;
        // SAFETY: the audio is the caller's.
        Ok(unsafe { Audio::from_raw(Arc::clone(self.functions()), audio) })
    }

    /// Speaks piece by piece: the first is a clause or a few words, later ones grow.
    ///
    /// The closure gets each piece on this thread, while the next one is computed. `ControlFlow::Break` stops the speech
    /// and is returned.
    pub fn stream<B>(
        &self,
        request: &Request,
        take: impl FnMut(&Audio) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        request.with_c(|request| {
            hand_on(self.functions(), take, |callback, user| {
                // SAFETY: the bundle, the request and what `user` leads to live until the function returns.
                unsafe { (self.functions().kokoro_stream)(self.pointer(), request, callback, user) }
            })
        })?
    }

    /// Returns the pieces of a stream; each is computed when it is taken, on the thread that takes it.
    ///
    /// A server decides with it whose piece is next. `steady` has no effect.
    pub fn pieces(&self, request: &Request) -> Result<Pieces, Error> {
        Pieces::open(&self.handle, request)
    }

    /// Opens a speech whose text arrives bit by bit. The request has neither text nor phonemes.
    pub fn live(&self, request: &Request) -> Result<Live, Error> {
        Live::open(&self.handle, request)
    }

    /// Ends all calls on the bundle that are running or waiting, with `ErrorCode::CancelledError`.
    pub fn cancel(&self) {
        // SAFETY: the bundle lives.
        unsafe { (self.functions().kokoro_cancel)(self.pointer()) }
    }

    fn functions(&self) -> &Arc<Functions> {
        &self.handle.functions
    }

    fn pointer(&self) -> *mut kokoro_bundle {
        self.handle.pointer
    }
}

impl std::fmt::Debug for Bundle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Bundle({} on {}, {} voices)", self.model(), self.level(), self.voices().len())
    }
}

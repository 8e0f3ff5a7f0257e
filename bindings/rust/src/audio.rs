//! Speech, or a piece of it.

use std::ffi::{c_char, CStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;
use std::sync::Arc;

use crate::error::{c_string, Error};
use crate::header::{kokoro_audio, kokoro_timing, Functions};

/// A phoneme or a word, with its time in seconds from the beginning of the whole speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing<'a> {
    /// A phoneme, or a word as the reader sees it.
    pub text: &'a str,
    /// When it begins.
    pub start: f64,
    /// When it ends.
    pub end: f64,
}

/// Speech, or a piece of it. It may outlive its bundle.
pub struct Audio {
    functions: Arc<Functions>,
    pointer: *mut kokoro_audio,
}

// SAFETY: nobody changes an audio, and every thread may read and free it.
unsafe impl Send for Audio {}
// SAFETY: the same.
unsafe impl Sync for Audio {}

impl Audio {
    /// Takes an audio of the library.
    ///
    /// # Safety
    ///
    /// The pointer leads to an audio that nobody else frees, unless the caller never drops what is returned.
    pub(crate) unsafe fn from_raw(functions: Arc<Functions>, pointer: *mut kokoro_audio) -> Self {
        Self { functions, pointer }
    }

    fn raw(&self) -> &kokoro_audio {
        // SAFETY: the audio lives as long as this.
        unsafe { &*self.pointer }
    }

    /// Mono, at [`sample_rate`](Self::sample_rate); full scale is 1, not clipped.
    pub fn samples(&self) -> &[f32] {
        // SAFETY: the library has that many.
        unsafe { all(self.raw().samples, self.raw().sample_count) }
    }

    /// Samples for each second: 24000.
    pub fn sample_rate(&self) -> u32 {
        self.raw().sample_rate.unsigned_abs()
    }

    /// Seconds from the beginning of the whole speech, in pieces of a stream.
    pub fn start(&self) -> f64 {
        self.raw().start
    }

    /// All that is spoken.
    pub fn phonemes(&self) -> &str {
        // SAFETY: the string lives as long as the audio.
        unsafe { text(self.raw().phonemes) }
    }

    /// The times of the phonemes.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = Timing<'_>> {
        // SAFETY: the library has that many.
        timings(unsafe { all(self.raw().tokens, self.raw().token_count) })
    }

    /// The times of the words of text.
    pub fn words(&self) -> impl ExactSizeIterator<Item = Timing<'_>> {
        // SAFETY: the library has that many.
        timings(unsafe { all(self.raw().words, self.raw().word_count) })
    }

    /// Frames of 600 samples of each token, boundaries included; rounded in stretched speech.
    pub fn durations(&self) -> &[i64] {
        // SAFETY: the library has that many.
        unsafe { all(self.raw().durations, self.raw().duration_count) }
    }

    /// Seconds by which a piece came before those before it were over; below 0: a gap of so many seconds.
    pub fn lead(&self) -> f64 {
        self.raw().lead
    }

    /// Writes a WAV file of 16 bits, whole or not at all. A file that is there is replaced.
    pub fn write_wav(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = c_string("path", path.as_ref().as_os_str().as_bytes())?;
        // SAFETY: the audio and the string live.
        self.functions.check(unsafe { (self.functions.kokoro_write_wav)(self.pointer, path.as_ptr()) })
    }
}

impl Drop for Audio {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the audio any more.
        unsafe { (self.functions.kokoro_audio_free)(self.pointer) }
    }
}

impl std::fmt::Debug for Audio {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let samples = self.samples().len();
        write!(formatter, "Audio({samples} samples from {} s on: {:?})", self.start(), self.phonemes())
    }
}

/// Returns an array of C, which may be NULL if it is empty.
///
/// # Safety
///
/// There are `count` elements at `first`, for as long as the audio lives.
unsafe fn all<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        slice::from_raw_parts(first, count)
    }
}

fn timings(all: &[kokoro_timing]) -> impl ExactSizeIterator<Item = Timing<'_>> {
    all.iter().map(|each| Timing {
        // SAFETY: the string lives as long as the audio.
        text: unsafe { text(each.text) },
        start: each.start,
        end: each.end,
    })
}

/// Returns a string of C; the library's are UTF-8.
///
/// # Safety
///
/// The pointer leads to a string that ends with a zero byte, for as long as the audio lives.
unsafe fn text<'a>(pointer: *const c_char) -> &'a str {
    CStr::from_ptr(pointer).to_str().unwrap_or_default()
}

//! The C library of a bundle, opened while the program runs.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{c_string, Error};
use crate::header::{ErrorCode, Functions};

#[cfg(target_os = "macos")]
pub(crate) const NAME: &str = "libkokoro.dylib";
#[cfg(not(target_os = "macos"))]
pub(crate) const NAME: &str = "libkokoro.so";

/// Resolve all functions at once, and show them to no other library; equal on Linux and macOS.
const RTLD_NOW: c_int = 2;
#[cfg(target_os = "macos")]
const RTLD_LOCAL: c_int = 4;
#[cfg(not(target_os = "macos"))]
const RTLD_LOCAL: c_int = 0;

// Every program of Rust's standard library has these.
extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// Declares the struct of a library's functions, and how they are found by name.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?,)*) => {
        /// The functions of a library.
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Finds the functions.
            ///
            /// # Safety
            ///
            /// `find` returns the address of the function of that name in kokoro.h.
            pub unsafe fn find<E>(find: impl Fn(&str) -> Result<*mut c_void, E>) -> Result<Self, E> {
                // A pointer to a function has the size of any other.
                Ok(Self { $($name: std::mem::transmute_copy(&find(stringify!($name))?),)* })
            }
        }
    };
}

/// Opens a library; it stays in the process.
pub(crate) fn open(path: &Path) -> Result<Functions, Error> {
    let place = c_string("path of the library", path.as_os_str().as_bytes())?;
    // SAFETY: the string lives; that the file is the library of a bundle is the caller's promise.
    let library = unsafe { dlopen(place.as_ptr(), RTLD_NOW | RTLD_LOCAL) };
    if library.is_null() {
        return Err(refused(path));
    }
    let find = |name: &str| {
        let name = c_string("name", name.as_bytes())?;
        // SAFETY: the library is open, and the string lives.
        let found = unsafe { dlsym(library, name.as_ptr()) };
        if found.is_null() {
            Err(refused(path))
        } else {
            Ok(found)
        }
    };
    // SAFETY: these are the functions of kokoro.h.
    unsafe { Functions::find(find) }
}

fn refused(path: &Path) -> Error {
    // SAFETY: an error has just been met, so there is a message, which lives until the next call.
    let reason = unsafe { text(dlerror()) };
    let message = format!(
        "The C library {} cannot be loaded: {reason}. Export the bundle for this machine with --native, or name another \
         library with LoadOptions::library.",
        path.display()
    );
    Error::new(ErrorCode::LibraryLoadError, message)
}

/// Returns a copy of a string of C; NULL is an empty one.
///
/// # Safety
///
/// The pointer is NULL, or leads to a string that ends with a zero byte.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    CStr::from_ptr(pointer).to_string_lossy().into_owned()
}

impl Functions {
    /// Returns the error of a call that this thread has just made.
    pub(crate) fn check(&self, code: c_int) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the message lives until the next failure on this thread.
        Err(Error::of(code, unsafe { text((self.kokoro_last_error)()) }))
    }
}

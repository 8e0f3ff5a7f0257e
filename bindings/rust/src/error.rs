//! Errors: their types are those of kokoro.h, their messages those of the library.

use std::ffi::{c_int, CString};
use std::fmt;

use crate::header::ErrorCode;

/// The kind of an error, which is enough for most apps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A defect of the library, or a compiled library failed.
    Internal,
    /// The bundle's calls were cancelled.
    Cancelled,
    /// An argument is wrong.
    Usage,
    /// The input cannot be spoken.
    Input,
    /// The bundle is incomplete, damaged or not a bundle.
    Bundle,
    /// The bundle is for another machine, or this one lacks something.
    Machine,
    /// A file could not be written.
    Output,
}

/// An error of a bundle, of its input or of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

impl Error {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Returns the error of a number that the library returned, which may be newer than this crate.
    pub(crate) fn of(number: c_int, message: String) -> Self {
        let kind = ErrorCode::of(number / 100 * 100).unwrap_or(ErrorCode::InternalError);
        Self::new(ErrorCode::of(number).unwrap_or(kind), message)
    }

    /// The error's type, such as `ErrorCode::UnknownVoiceError`.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self.code as c_int / 100 {
            _ if self.code == ErrorCode::CancelledError => ErrorKind::Cancelled,
            2 => ErrorKind::Usage,
            3 => ErrorKind::Input,
            4 => ErrorKind::Bundle,
            5 => ErrorKind::Machine,
            6 => ErrorKind::Output,
            _ => ErrorKind::Internal,
        }
    }

    /// What was expected, what was found, and what to do.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.code, self.message)
    }
}

impl std::error::Error for Error {}

/// Returns a string of C, which has no zero byte within.
pub(crate) fn c_string(what: &str, value: &[u8]) -> Result<CString, Error> {
    let refused = |_| {
        let message = format!("The {what} must not contain the character U+0000: take it out.");
        Error::new(ErrorCode::ArgumentTypeError, message)
    };
    CString::new(value).map_err(refused)
}

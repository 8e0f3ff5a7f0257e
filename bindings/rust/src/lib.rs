//! Speech from a bundle of kokoro-export, which compiles the text-to-speech model Kokoro-82M.
//!
//! ```no_run
//! use kokoro_bundle::{Bundle, Request};
//!
//! # fn main() -> Result<(), kokoro_bundle::Error> {
//! let bundle = Bundle::load("bundles/kokoro")?;
//! let audio = bundle.speak(&Request::text("Hello, world!").voice("af_heart"))?;
//! audio.write_wav("hello.wav")?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Bundle::stream`] hands on each piece while the next one is computed, [`Bundle::pieces`] computes a piece when it is
//! taken, and [`Bundle::live`] speaks text that arrives bit by bit.
//!
//! The crate opens the C library of the bundle, `native/libkokoro.so`, when the bundle is loaded. Nothing is linked.

// The example of the README is compiled with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(not(unix))]
compile_error!("Bundles have a C library for Linux and macOS alone.");

#[macro_use]
mod library;

mod audio;
mod bundle;
mod error;
// It has all of kokoro.h.
#[allow(dead_code, non_camel_case_types)]
#[rustfmt::skip]
mod header;
mod live;
mod pieces;
mod request;
mod take;
mod wav;

pub use audio::{Audio, Timing};
pub use bundle::{Bundle, LoadOptions};
pub use error::{Error, ErrorKind};
pub use header::ErrorCode;
pub use live::Live;
pub use pieces::Pieces;
pub use request::Request;
pub use wav::{pcm16, wav_header};

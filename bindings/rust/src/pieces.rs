//! The pieces of a speech, each computed when it is taken.

use std::ptr;
use std::sync::Arc;

use crate::audio::Audio;
use crate::bundle::Handle;
use crate::error::Error;
use crate::header::kokoro_pieces;
use crate::request::Request;

/// The pieces of a speech; [`Bundle::pieces`](crate::Bundle::pieces) makes one.
pub struct Pieces {
    handle: Arc<Handle>,
    pointer: *mut kokoro_pieces,
    ended: bool,
}

// SAFETY: any thread may use a speech, one at a time.
unsafe impl Send for Pieces {}

impl Pieces {
    pub(crate) fn open(handle: &Arc<Handle>, request: &Request) -> Result<Self, Error> {
        let mut pieces = ptr::null_mut();
        // SAFETY: the bundle and the request live.
        let open = |request| unsafe { (handle.functions.kokoro_pieces_open)(handle.pointer, request, &mut pieces) };
        handle.functions.check(request.with_c(open)?)?;
        Ok(Self { handle: Arc::clone(handle), pointer: pieces, ended: false })
    }
}

impl Iterator for Pieces {
    type Item = Result<Audio, Error>;

    /// Computes the next piece. After an error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let functions = &self.handle.functions;
        let mut audio = ptr::null_mut();
        // SAFETY: the speech lives, and this thread alone uses it.
        let checked = functions.check(unsafe { (functions.kokoro_pieces_next)(self.pointer, &mut audio) });
        self.ended = checked.is_err() || audio.is_null();
        if let Err(error) = checked {
            return Some(Err(error));
        }
        // SAFETY: the audio is the caller's.
        (!audio.is_null()).then(|| Ok(unsafe { Audio::from_raw(Arc::clone(functions), audio) }))
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        // SAFETY: nobody uses the speech any more.
        unsafe { (self.handle.functions.kokoro_pieces_free)(self.pointer) }
    }
}

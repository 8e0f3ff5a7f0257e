//! Speech of a text that arrives bit by bit, such as the tokens of a language model.

use std::ffi::c_int;
use std::ops::ControlFlow;
use std::ptr;
use std::sync::Arc;

use crate::audio::Audio;
use crate::bundle::Handle;
use crate::error::{c_string, Error};
use crate::header::kokoro_live;
use crate::request::Request;
use crate::take::hand_on;

/// A speech whose text is pushed; [`Bundle::live`](crate::Bundle::live) makes one.
///
/// Every thread may push, also the closure that takes the pieces. One call at a time takes them.
pub struct Live {
    handle: Arc<Handle>,
    pointer: *mut kokoro_live,
}

// SAFETY: every function may be called from any thread, with the same speech.
unsafe impl Send for Live {}
// SAFETY: the same.
unsafe impl Sync for Live {}

impl Live {
    pub(crate) fn open(handle: &Arc<Handle>, request: &Request) -> Result<Self, Error> {
        let mut live = ptr::null_mut();
        // SAFETY: the bundle and the request live.
        let open = |request| unsafe { (handle.functions.kokoro_live_open)(handle.pointer, request, &mut live) };
        handle.functions.check(request.with_c(open)?)?;
        Ok(Self { handle: Arc::clone(handle), pointer: live })
    }

    /// Takes the next part of the text, cut anywhere. Computes nothing.
    ///
    /// A sentence, or the first clause, is spoken when the word after it shows that it is complete.
    pub fn push(&self, text: &str) -> Result<(), Error> {
        let text = c_string("text", text.as_bytes())?;
        // SAFETY: the speech and the string live.
        self.handle.functions.check(unsafe { (self.handle.functions.kokoro_live_push)(self.pointer, text.as_ptr()) })
    }

    /// Has all that is there spoken, although its sentence may go on.
    pub fn flush(&self) -> Result<(), Error> {
        // SAFETY: the speech lives.
        self.handle.functions.check(unsafe { (self.handle.functions.kokoro_live_flush)(self.pointer) })
    }

    /// Ends the text: what is there is the end of the speech.
    pub fn end(&self) -> Result<(), Error> {
        // SAFETY: the speech lives.
        self.handle.functions.check(unsafe { (self.handle.functions.kokoro_live_end)(self.pointer) })
    }

    /// Hands the pieces to a closure, waits for text, and returns after the end.
    ///
    /// `ControlFlow::Break` ends the speech and is returned.
    pub fn stream<B>(&self, take: impl FnMut(&Audio) -> ControlFlow<B>) -> Result<ControlFlow<B>, Error> {
        self.take(1, take)
    }

    /// The same, but returns when nothing more is certain to be complete: for programs of one thread.
    pub fn stream_complete<B>(&self, take: impl FnMut(&Audio) -> ControlFlow<B>) -> Result<ControlFlow<B>, Error> {
        self.take(0, take)
    }

    fn take<B>(&self, wait: c_int, take: impl FnMut(&Audio) -> ControlFlow<B>) -> Result<ControlFlow<B>, Error> {
        hand_on(&self.handle.functions, take, |callback, user| {
            // SAFETY: the speech and what `user` leads to live until the function returns.
            unsafe { (self.handle.functions.kokoro_live_stream)(self.pointer, wait, callback, user) }
        })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // SAFETY: nobody uses the speech any more.
        unsafe { (self.handle.functions.kokoro_live_free)(self.pointer) }
    }
}

//! The callback of C that hands pieces to a closure.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::audio::Audio;
use crate::error::Error;
use crate::header::{kokoro_audio, kokoro_callback, Functions};

/// A closure that takes pieces, and how it ended.
struct Taker<'a, B, F> {
    functions: &'a Arc<Functions>,
    take: F,
    broken: Option<B>,
    panic: Option<Box<dyn Any + Send>>,
}

/// Makes a call of C that hands pieces to a closure. A panic of the closure goes on after the call.
pub(crate) fn hand_on<B, F: FnMut(&Audio) -> ControlFlow<B>>(
    functions: &Arc<Functions>,
    take: F,
    call: impl FnOnce(kokoro_callback, *mut c_void) -> c_int,
) -> Result<ControlFlow<B>, Error> {
    let mut taker = Taker { functions, take, broken: None, panic: None };
    let code = call(take_piece::<B, F>, ptr::from_mut(&mut taker).cast());
    if let Some(panic) = taker.panic {
        resume_unwind(panic);
    }
    match taker.broken {
        Some(value) => Ok(ControlFlow::Break(value)),
        None => functions.check(code).map(ControlFlow::Continue),
    }
}

/// The function that C calls; it returns 0 to go on.
unsafe extern "C" fn take_piece<B, F: FnMut(&Audio) -> ControlFlow<B>>(
    piece: *const kokoro_audio,
    user: *mut c_void,
) -> c_int {
    let taker = &mut *user.cast::<Taker<'_, B, F>>();
    // The library frees the piece.
    let piece = ManuallyDrop::new(Audio::from_raw(Arc::clone(taker.functions), piece.cast_mut()));
    let taken = catch_unwind(AssertUnwindSafe(|| (taker.take)(&piece)));
    match taken {
        Ok(ControlFlow::Continue(())) => return 0,
        Ok(ControlFlow::Break(value)) => taker.broken = Some(value),
        Err(panic) => taker.panic = Some(panic),
    }
    1
}

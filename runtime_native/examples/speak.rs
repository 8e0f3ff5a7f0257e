//! Speaks text into a WAV file, piece by piece. The program finds the library where it is now:
//!
//!     rustc -O --edition 2021 speak.rs -L BUNDLE/native -C link-arg=-Wl,-rpath,BUNDLE/native
//!     ./speak BUNDLE "Hello, world!" hello.wav
use std::ffi::{c_char, c_double, c_int, c_void, CStr, CString};
use std::io::{Seek, Write};
use std::{env, fs::File, mem, ptr, slice};

#[repr(C)]
struct Request {
    size: usize, text: *const c_char, phonemes: *const c_char, voice: *const c_char, speed: c_double, seed: u64,
    ssml: c_int, skip_emoji: c_int, trim: c_int, steady: c_int, language: *const c_char, sentence_pause: c_double,
    clause_pause: c_double, end_pause: c_double, loudness: c_double, no_stretch: c_int, one_pass: c_int,
}

/// Timings and durations follow.
#[repr(C)]
struct Audio {
    samples: *const f32, sample_count: usize, sample_rate: c_int, start: c_double, phonemes: *const c_char,
}

type Callback = extern "C" fn(&Audio, *mut c_void) -> c_int;

#[link(name = "kokoro")]
unsafe extern "C" {
    fn kokoro_load(directory: *const c_char, options: *const c_void, bundle: *mut *mut c_void) -> c_int;
    fn kokoro_check(bundle: *mut c_void, request: &Request) -> c_int;
    fn kokoro_stream(bundle: *mut c_void, request: &Request, callback: Callback, user: *mut c_void) -> c_int;
    fn kokoro_free(bundle: *mut c_void);
    fn kokoro_last_error() -> *const c_char;
}

fn header(bytes: u32) -> Vec<u8> {
    let rates = [16, 0x0001_0001, 24_000, 48_000, 0x0010_0002].map(u32::to_le_bytes).concat();
    [b"RIFF", &(36 + bytes).to_le_bytes()[..], b"WAVEfmt ", &rates, b"data", &bytes.to_le_bytes()].concat()
}

extern "C" fn write_piece(piece: &Audio, user: *mut c_void) -> c_int {
    let (file, samples) = unsafe { (&mut *user.cast::<File>(), slice::from_raw_parts(piece.samples, piece.sample_count)) };
    let encode = |each: &f32| ((each.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16).to_le_bytes();
    let bytes: Vec<u8> = samples.iter().flat_map(encode).collect();
    println!("from {:.2} s on: {}", piece.start, unsafe { CStr::from_ptr(piece.phonemes) }.to_string_lossy());
    file.write_all(&bytes).is_err().into()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (directory, text) = (CString::new(&*arguments[0])?, CString::new(&*arguments[1])?);
    let mut bundle = ptr::null_mut();
    let request = Request { size: size_of::<Request>(), text: text.as_ptr(), ..unsafe { mem::zeroed() } };
    let check = |error| if error == 0 { Ok(()) } else { Err(unsafe { CStr::from_ptr(kokoro_last_error()) }.to_str().unwrap()) };
    check(unsafe { kokoro_load(directory.as_ptr(), ptr::null(), &mut bundle) })?;
    check(unsafe { kokoro_check(bundle, &request) })?;
    let mut file = File::create(&arguments[2])?;
    file.write_all(&header(0))?;
    check(unsafe { kokoro_stream(bundle, &request, write_piece, ptr::from_mut(&mut file).cast()) })?;
    let bytes = file.stream_position()? - 44;
    file.rewind()?;
    file.write_all(&header(bytes as u32))?;
    Ok(unsafe { kokoro_free(bundle) })
}

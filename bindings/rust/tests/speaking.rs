//! What an app may rely on. The variable KOKORO_BUNDLE names a bundle that has the library.

use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;

use kokoro_bundle::{pcm16, wav_header, Audio, Bundle, Error, ErrorCode, ErrorKind, LoadOptions, Request};

const TEXT: &str = "One sentence is here. Another one follows it, and it is longer. The third one ends it.";

fn directory() -> String {
    std::env::var("KOKORO_BUNDLE").expect("KOKORO_BUNDLE names a bundle")
}

fn loaded() -> Bundle {
    Bundle::load(directory()).expect("the bundle is sound")
}

/// Returns a closure that keeps all samples, and what it keeps.
fn collect(samples: &mut Vec<f32>) -> impl FnMut(&Audio) -> ControlFlow<()> + '_ {
    |piece| {
        samples.extend(piece.samples());
        ControlFlow::Continue(())
    }
}

fn code(result: Result<impl Sized, Error>) -> ErrorCode {
    let error = result.err().expect("it fails");
    assert!(error.message().len() > 20, "{error}");
    error.code()
}

#[test]
fn a_bundle_tells_what_it_is() {
    let bundle = loaded();
    assert!(bundle.voices().contains(&"af_heart".to_string()));
    assert!(bundle.is_synthetic() && bundle.max_phonemes() > 0);
    assert_eq!(bundle.library_version(), env!("CARGO_PKG_VERSION"));
    assert!(!bundle.model().is_empty() && !bundle.level().is_empty());
}

#[test]
fn a_stream_and_pieces_in_one_pass_have_the_samples_of_the_whole() {
    let bundle = loaded();
    let request = Request::text(TEXT).one_pass(true).trim(false).seed(7);
    let whole = bundle.speak(&request).unwrap();
    let mut streamed = Vec::new();
    assert_eq!(bundle.stream(&request, collect(&mut streamed)).unwrap(), ControlFlow::Continue(()));
    let pieces: Vec<Audio> = bundle.pieces(&request).unwrap().collect::<Result<_, _>>().unwrap();
    let taken: Vec<f32> = pieces.iter().flat_map(|piece| piece.samples().to_vec()).collect();
    assert!(whole.samples() == streamed && whole.samples() == taken);
    assert_eq!(whole.words().map(|word| word.text).collect::<String>(), TEXT.replace(' ', ""));
    assert_eq!(whole.tokens().len() + 2, whole.durations().len());
    assert!(pieces.len() > 1 && pieces[1].start() > 0.0);
}

#[test]
fn a_file_has_the_samples_of_16_bits() {
    let audio = loaded().speak(&Request::text("Hello.")).unwrap();
    let path = std::env::temp_dir().join(format!("kokoro-bundle-{}.wav", std::process::id()));
    audio.write_wav(&path).unwrap();
    let samples = pcm16(audio.samples());
    let mut expected = wav_header(samples.len(), audio.sample_rate()).unwrap().to_vec();
    expected.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    let written = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(written == expected);
    assert_eq!(pcm16(&[0.5, -0.5, 2.0, -2.0, 1.5 / 32767.0]), [16384, -16384, 32767, -32767, 2]);
    assert_eq!(code(audio.write_wav("/nowhere/speech.wav")), ErrorCode::OutputError);
    assert_eq!(code(wav_header(1 << 31, 24_000)), ErrorCode::OutputError);
}

#[test]
fn a_closure_stops_the_stream_and_returns_a_value() {
    let bundle = loaded();
    let long = Request::text(TEXT.repeat(50));
    let mut count = 0;
    let stopped = bundle.stream(&long, |piece| {
        count += 1;
        ControlFlow::Break(piece.samples().len())
    });
    assert!(matches!(stopped, Ok(ControlFlow::Break(length)) if length > 0));
    assert_eq!(count, 1);
}

#[test]
fn a_panic_of_the_closure_goes_on_and_the_bundle_speaks_later() {
    let bundle = loaded();
    let stream = || bundle.stream(&Request::text(TEXT), |_| -> ControlFlow<()> { panic!("of the app") });
    let panic = catch_unwind(AssertUnwindSafe(stream)).expect_err("the closure panics");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"of the app"));
    assert!(bundle.speak(&Request::text("Still here.")).is_ok());
}

#[test]
fn errors_have_types_and_messages() {
    let bundle = loaded();
    let a = || Request::phonemes("a");
    assert_eq!(code(bundle.speak(&a().voice("x"))), ErrorCode::UnknownVoiceError);
    assert_eq!(code(bundle.speak(&a().speed(0.0))), ErrorCode::SpeedError);
    assert_eq!(code(bundle.speak(&a().loudness(0.0))), ErrorCode::LoudnessError);
    assert_eq!(code(bundle.check(&a().sentence_pause(61.0))), ErrorCode::PauseError);
    assert_eq!(code(bundle.check(&Request::text("a\0b"))), ErrorCode::ArgumentTypeError);
    assert_eq!(code(bundle.check(&Request::new())), ErrorCode::UsageError);
    assert_eq!(code(bundle.pieces(&Request::text("[Hello](/ж/)"))), ErrorCode::UnknownPhonemesError);
    assert_eq!(code(bundle.live(&Request::text("a"))), ErrorCode::UsageError);
    let pinned = LoadOptions::new().manifest_sha256("0".repeat(64));
    assert_eq!(code(Bundle::load_with(directory(), &pinned)), ErrorCode::UsageError);
    let library = format!("{}/native/libkokoro.so", directory());
    assert_eq!(code(Bundle::load_with(directory(), &pinned.library(&library))), ErrorCode::ManifestDigestError);
    assert_eq!(code(Bundle::load("/nowhere")), ErrorCode::LibraryLoadError);
    let missing = Bundle::load_with("/nowhere", &LoadOptions::new().library(library)).unwrap_err();
    assert_eq!((missing.code(), missing.kind()), (ErrorCode::MissingFileError, ErrorKind::Bundle));
    assert!(missing.to_string().starts_with("MissingFileError: /nowhere is not a bundle"));
}

#[test]
fn threads_share_a_bundle() {
    let bundle = loaded();
    let alone = bundle.speak(&Request::text(TEXT)).unwrap();
    let speaking: Vec<_> = (0..4)
        .map(|_| {
            let bundle = bundle.clone();
            thread::spawn(move || bundle.speak(&Request::text(TEXT)).unwrap())
        })
        .collect();
    for thread in speaking {
        assert!(thread.join().unwrap().samples() == alone.samples());
    }
}

#[test]
fn another_thread_cancels() {
    let bundle = loaded();
    let cancelled = bundle.stream(&Request::text(TEXT.repeat(50)), |_| -> ControlFlow<()> {
        thread::scope(|scope| scope.spawn(|| bundle.cancel()).join().unwrap());
        ControlFlow::Continue(())
    });
    let error = cancelled.unwrap_err();
    assert_eq!((error.code(), error.kind()), (ErrorCode::CancelledError, ErrorKind::Cancelled));
}

#[test]
fn text_may_arrive_bit_by_bit() {
    let live = loaded().live(&Request::new().voice("af_heart")).unwrap();
    let mut pushed = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            for character in TEXT.chars() {
                live.push(&character.to_string()).unwrap();
            }
            live.end().unwrap();
        });
        assert_eq!(live.stream(collect(&mut pushed)).unwrap(), ControlFlow::Continue(()));
    });
    // One thread can do it all.
    let single = loaded().live(&Request::new()).unwrap();
    let mut taken = Vec::new();
    single.push(&TEXT[..40]).unwrap();
    assert_eq!(single.stream_complete(collect(&mut taken)).unwrap(), ControlFlow::Continue(()));
    assert!(!taken.is_empty() && taken.len() < pushed.len());
    single.push(&TEXT[40..]).unwrap();
    single.end().unwrap();
    assert_eq!(single.stream_complete(collect(&mut taken)).unwrap(), ControlFlow::Continue(()));
    assert!(pushed == taken);
    assert_eq!(code(single.push("more")), ErrorCode::UsageError);
}

#[test]
fn a_flush_has_an_open_sentence_spoken() {
    let live = loaded().live(&Request::new()).unwrap();
    let mut samples = Vec::new();
    live.push("Wait for").unwrap();
    assert_eq!(live.stream_complete(collect(&mut samples)).unwrap(), ControlFlow::Continue(()));
    assert!(samples.is_empty());
    live.flush().unwrap();
    assert_eq!(live.stream_complete(collect(&mut samples)).unwrap(), ControlFlow::Continue(()));
    assert!(!samples.is_empty());
}

#[test]
fn speeches_outlive_the_variable_of_their_bundle() {
    let bundle = loaded();
    let mut pieces = bundle.pieces(&Request::text(TEXT)).unwrap();
    let audio = bundle.speak(&Request::text("Hello.")).unwrap();
    drop(bundle);
    assert!(pieces.next().unwrap().is_ok());
    drop(pieces);
    assert!(!audio.samples().is_empty() && !audio.phonemes().is_empty());
}

//! What to speak, and how.

use std::ffi::CString;
use std::mem::size_of;
use std::os::raw::c_int;
use std::ptr;

use crate::error::{c_string, Error};
use crate::header::kokoro_request;

/// What to speak, and how. Options have the names and the defaults of Python's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    text: Option<String>,
    phonemes: Option<String>,
    voice: Option<String>,
    language: Option<String>,
    speed: Option<f64>,
    seed: u64,
    ssml: bool,
    skip_emoji: bool,
    trim: Option<bool>,
    steady: bool,
    sentence_pause: f64,
    clause_pause: f64,
    end_pause: Option<f64>,
    loudness: Option<f64>,
    no_stretch: bool,
    one_pass: bool,
}

impl Request {
    /// A request without text, for [`Bundle::live`](crate::Bundle::live).
    pub fn new() -> Self {
        Self::default()
    }

    /// A request to speak text of any length.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A request to speak phonemes of any length.
    pub fn phonemes(phonemes: impl Into<String>) -> Self {
        Self { phonemes: Some(phonemes.into()), ..Self::default() }
    }

    /// A name, or a blend such as `af_heart*0.7+am_adam*0.3`; by default `af_heart`.
    pub fn voice(self, voice: impl Into<String>) -> Self {
        Self { voice: Some(voice.into()), ..self }
    }

    /// The language of the text, such as `en-us` or `es-MX`; by default that of the voice.
    pub fn language(self, language: impl Into<String>) -> Self {
        Self { language: Some(language.into()), ..self }
    }

    /// From 0.25 to 4; 1 by default.
    pub fn speed(self, speed: f64) -> Self {
        Self { speed: Some(speed), ..self }
    }

    /// The seed of the noise in unvoiced sounds; equal seeds give equal samples.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The text is an SSML document.
    pub fn ssml(self, ssml: bool) -> Self {
        Self { ssml, ..self }
    }

    /// Leave emoji out.
    pub fn skip_emoji(self, skip_emoji: bool) -> Self {
        Self { skip_emoji, ..self }
    }

    /// Shorten the silence at both ends; the default of streams.
    pub fn trim(self, trim: bool) -> Self {
        Self { trim: Some(trim), ..self }
    }

    /// Begin a stream late enough that a slow machine makes no gaps.
    pub fn steady(self, steady: bool) -> Self {
        Self { steady, ..self }
    }

    /// Seconds of silence to add after each sentence but the last, 0 to 60.
    pub fn sentence_pause(self, sentence_pause: f64) -> Self {
        Self { sentence_pause, ..self }
    }

    /// The same after clauses that do not end a sentence.
    pub fn clause_pause(self, clause_pause: f64) -> Self {
        Self { clause_pause, ..self }
    }

    /// Seconds of silence at the end where it is trimmed; 0.3 by default.
    pub fn end_pause(self, end_pause: f64) -> Self {
        Self { end_pause: Some(end_pause), ..self }
    }

    /// LUFS to which a fixed gain brings each voice, such as -18; by default voices have the level of the model.
    pub fn loudness(self, loudness: f64) -> Self {
        Self { loudness: Some(loudness), ..self }
    }

    /// False leaves speeds to the model.
    pub fn stretch(self, stretch: bool) -> Self {
        Self { no_stretch: !stretch, ..self }
    }

    /// Divide a stream no further than [`Bundle::speak`](crate::Bundle::speak) does.
    pub fn one_pass(self, one_pass: bool) -> Self {
        Self { one_pass, ..self }
    }

    /// Calls a function with the request of C.
    pub(crate) fn with_c<R>(&self, call: impl FnOnce(*const kokoro_request) -> R) -> Result<R, Error> {
        let given =
            |what, value: &Option<String>| value.as_ref().map(|text| c_string(what, text.as_bytes())).transpose();
        let pointer = |value: &Option<CString>| value.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let (text, phonemes) = (given("text", &self.text)?, given("phonemes", &self.phonemes)?);
        let (voice, language) = (given("voice", &self.voice)?, given("language", &self.language)?);
        let request = kokoro_request {
            size: size_of::<kokoro_request>(),
            text: pointer(&text),
            phonemes: pointer(&phonemes),
            voice: pointer(&voice),
            speed: self.speed.map_or(1.0, not_zero),
            seed: self.seed,
            ssml: c_int::from(self.ssml),
            skip_emoji: c_int::from(self.skip_emoji),
            trim: self.trim.map_or(0, |trim| if trim { 1 } else { -1 }),
            steady: c_int::from(self.steady),
            language: pointer(&language),
            sentence_pause: self.sentence_pause,
            clause_pause: self.clause_pause,
            end_pause: self.end_pause.map_or(0.0, |pause| if pause == 0.0 { -1.0 } else { pause }),
            loudness: self.loudness.map_or(0.0, not_zero),
            no_stretch: c_int::from(self.no_stretch),
            one_pass: c_int::from(self.one_pass),
        };
        Ok(call(&request))
    }
}

/// Returns a number for a field whose zero means its default: a zero that is given is refused as what it is.
fn not_zero(number: f64) -> f64 {
    if number == 0.0 {
        f64::MIN_POSITIVE
    } else {
        number
    }
}

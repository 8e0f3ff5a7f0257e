//! WAV files of 16 bits that are written piece by piece.

use crate::error::Error;
use crate::header::ErrorCode;

const HEADER: usize = 44;

/// Returns samples of 16 bits, rounded as those of the library's own files: a half to the even number.
pub fn pcm16(samples: &[f32]) -> Vec<i16> {
    samples.iter().map(|sample| (sample.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16).collect()
}

/// Returns the beginning of a WAV file, before so many samples.
pub fn wav_header(sample_count: usize, sample_rate: u32) -> Result<[u8; HEADER], Error> {
    let fits = u32::try_from(sample_count).ok().and_then(|count| count.checked_mul(2)?.checked_add(HEADER as u32));
    let Some(whole) = fits else {
        let message = format!(
            "The file would have {sample_count} samples of 16 bits, and a WAV file holds 4 GiB: write several files."
        );
        return Err(Error::new(ErrorCode::OutputError, message));
    };
    let size = whole - HEADER as u32;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(b"RIFF");
    header[8..16].copy_from_slice(b"WAVEfmt ");
    header[36..40].copy_from_slice(b"data");
    // One channel of PCM, with two bytes for each sample.
    let rates = [(24, sample_rate), (28, sample_rate.saturating_mul(2))];
    let numbers = [(4, size + 36), (16, 16), (20, 0x0001_0001), (32, 0x0010_0002), (40, size)];
    for (at, number) in numbers.into_iter().chain(rates) {
        header[at..at + 4].copy_from_slice(&u32::to_le_bytes(number));
    }
    Ok(header)
}

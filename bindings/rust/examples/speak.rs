//! Speaks text into a WAV file, piece by piece:
//!
//!     cargo run --example speak -- BUNDLE "Hello, world!" hello.wav
use std::fs::File;
use std::io::{self, Seek, Write};
use std::ops::ControlFlow;

use kokoro_bundle::{pcm16, wav_header, Audio, Bundle, Request};

fn write_piece(file: &mut File, piece: &Audio) -> io::Result<usize> {
    println!("from {:.2} s on: {}", piece.start(), piece.phonemes());
    let samples = pcm16(piece.samples());
    file.write_all(&samples.iter().flat_map(|sample| sample.to_le_bytes()).collect::<Vec<u8>>())?;
    Ok(samples.len())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, text, output] = &arguments[..] else { return Err("expected BUNDLE TEXT FILE".into()) };
    let bundle = Bundle::load(directory)?;
    let request = Request::text(text);
    bundle.check(&request)?;
    let mut file = File::create(output)?;
    file.write_all(&wav_header(0, 24_000)?)?;
    let mut count = 0;
    let streamed = bundle.stream(&request, |piece| match write_piece(&mut file, piece) {
        Ok(written) => {
            count += written;
            ControlFlow::Continue(())
        }
        Err(error) => ControlFlow::Break(error),
    })?;
    if let ControlFlow::Break(error) = streamed {
        return Err(error.into());
    }
    file.rewind()?;
    file.write_all(&wav_header(count, 24_000)?)?;
    Ok(())
}

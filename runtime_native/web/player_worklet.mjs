// The part of the player on the thread of the sound: a queue of samples.
/* global AudioWorkletProcessor, registerProcessor, sampleRate */

const REPORTS = 50; // a second

class Queue extends AudioWorkletProcessor {
  constructor() {
    super();
    this.pieces = [];
    this.offset = 0;
    this.played = 0;
    this.reported = 0;
    this.ends = false;
    this.started = false;
    this.port.onmessage = ({ data }) => {
      if (data.samples?.length) this.pieces.push(data.samples);
      if (data.end) this.ends = true;
      if (data.clear) this.pieces = [];
    };
  }

  process(inputs, [[output]]) {
    let at = 0;
    while (at < output.length && this.pieces.length) {
      const piece = this.pieces[0].subarray(this.offset, this.offset + output.length - at);
      output.set(piece, at);
      at += piece.length;
      this.offset += piece.length;
      if (this.offset >= this.pieces[0].length) {
        this.pieces.shift();
        this.offset = 0;
      }
    }
    this.played += at;
    const ended = this.ends && !this.pieces.length;
    const underrun = !ended && this.started && at < output.length;
    // One report for each gap.
    this.started = at === output.length;
    if (ended || underrun || this.played - this.reported >= sampleRate / REPORTS) {
      this.reported = this.played;
      this.port.postMessage({ played: this.played, underrun, ended });
    }
    if (ended) this.ends = false;
    return true;
  }
}

registerProcessor("kokoro-player", Queue);

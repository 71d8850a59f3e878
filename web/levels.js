// How loud each side is, for the surface of the water and the meters.

const FLOOR_dB = -60;
const LOUD_dB = -12;

/**
 * Loudness of a block of samples, 0 (silent) … 1 (loud speech).
 * @param {Float32Array} samples −1..1
 */
export function loudness(samples) {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  const level_dB = 10 * Math.log10(sum / samples.length + 1e-12);
  return Math.min(1, Math.max(0, (level_dB - FLOOR_dB) / (LOUD_dB - FLOOR_dB)));
}

/** Listens to one stream after another. */
export class Meter {
  /** @param {AudioContext} context */
  constructor(context) {
    this.context = context;
    this.analyser = context.createAnalyser();
    this.analyser.fftSize = 1024;
    this.samples = new Float32Array(this.analyser.fftSize);
    /** @type {MediaStreamAudioSourceNode | null} */
    this.source = null;
  }

  /** @param {MediaStream | null} stream */
  listen(stream) {
    this.source?.disconnect();
    this.source = null;
    if (!stream) return;
    try {
      this.source = this.context.createMediaStreamSource(stream);
      this.source.connect(this.analyser);
    } catch {
      // Firefox refuses a stream of another rate (Bluetooth); a call needs no meter.
      this.source = null;
    }
  }

  /** 0..1 */
  level() {
    if (!this.source) return 0;
    this.analyser.getFloatTimeDomainData(this.samples);
    return loudness(this.samples);
  }
}

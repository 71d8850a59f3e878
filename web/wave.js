// The waterline: its left half is moved by the user's voice, its right half by the assistant's.

const STEP = 8;
const SWELL = 1.6;
const LENGTH = 150;

/**
 * Height of the surface above its rest.
 * @param {number} x 0 (left edge) … 1
 * @param {number} wide Pixels from edge to edge.
 * @param {number} time_s
 * @param {number} left Loudness, 0..1.
 * @param {number} right Loudness, 0..1.
 * @param {number} crest Pixels at loudness 1.
 */
export function surface(x, wide, time_s, left, right, crest) {
  const lobe = Math.sin(2 * Math.PI * x) ** 2;
  const loud = (x < 0.5 ? left : right) * crest * lobe;
  const phase = (2 * Math.PI * x * wide) / LENGTH;
  // Both voices travel towards the middle, where they meet.
  const travel = x < 0.5 ? time_s * 7 : -time_s * 7;
  const voice = 0.65 * Math.sin(phase - travel) + 0.35 * Math.sin(1.7 * phase - 1.3 * travel);
  return SWELL * Math.sin(phase / 3 + time_s * 0.8) + loud * voice;
}

/**
 * An SVG path of the sea below the surface.
 * @param {number} wide Pixels.
 * @param {number} high Pixels; the surface rests `crest` below the top.
 * @param {number} crest
 * @param {(x: number) => number} height
 */
export function seaPath(wide, high, crest, height) {
  const points = [];
  for (let px = 0; px < wide + STEP; px += STEP) {
    points.push(`${px},${(crest - height(Math.min(1, px / wide))).toFixed(1)}`);
  }
  return `M${points.join("L")}L${wide + STEP},${high}L0,${high}Z`;
}

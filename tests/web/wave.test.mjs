import assert from "node:assert/strict";
import { test } from "node:test";
import { loudness } from "../../web/levels.js";
import { surface } from "../../web/wave.js";

const tone = (peak) => Float32Array.from({ length: 1024 }, (_, i) => peak * Math.sin(i / 5));
const height = (from, to, left, right) => {
  const xs = Array.from({ length: 200 }, (_, i) => from + ((to - from) * i) / 200);
  return Math.max(...xs.map((x) => Math.abs(surface(x, 1280, 1, left, right, 24))));
};

test("silence is 0, speech is in between, shouting is 1", () => {
  assert.equal(loudness(tone(0)), 0);
  assert.ok(loudness(tone(0.05)) > 0.4 && loudness(tone(0.05)) < 0.8);
  assert.equal(loudness(tone(1)), 1);
});

test("each voice moves its own half of the water, within its bounds", () => {
  assert.ok(height(0, 0.5, 1, 0) > 15);
  assert.ok(height(0.5, 1, 1, 0) < 3);
  assert.ok(height(0.5, 1, 0, 1) > 15);
  assert.ok(height(0, 1, 1, 1) <= 24 + 1.6);
});

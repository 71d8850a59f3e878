import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../web/api.js";
import { LineLost, NoPath } from "../../web/call.js";
import { nextStep } from "../../web/redial.js";

const attempt = { error: new LineLost(), count: 0, lost_s: 0, resuming: true };

test("a lost call is dialled again at once, then ever more patiently, and given up in the end", () => {
  const delays = [0, 1, 2, 9].map((count) => nextStep({ ...attempt, count }).delay_s);
  assert.deepEqual(delays, [0.3, 0.6, 1.2, 8]);
  assert.equal(nextStep({ ...attempt, lost_s: 61 }).phase, "ended");
});

test("who guessed the secret too often is not kept guessing", () => {
  const error = new ApiError(429, { code: "too_many_guesses" }, 50);
  assert.deepEqual(nextStep({ ...attempt, error, resuming: false }), { phase: "ended" });
});

test("a full server is asked again when it said so", () => {
  assert.deepEqual(nextStep({ ...attempt, error: new ApiError(429, { code: "too_busy" }, 20), resuming: false }), {
    phase: "full",
    delay_s: 20,
  });
});

test("a call that never came about, or whose conversation is gone, is not dialled again", () => {
  assert.equal(nextStep({ ...attempt, error: new NoPath(), resuming: false }).phase, "ended");
  assert.equal(nextStep({ ...attempt, error: new ApiError(404, {}) }).phase, "ended");
});

test("a server that restarts is waited for while there is a conversation to resume", () => {
  assert.equal(nextStep({ ...attempt, error: new ApiError(0, {}) }).phase, "reconnecting");
  assert.equal(
    nextStep({ ...attempt, error: new ApiError(0, {}), resuming: false }).phase,
    "ended",
  );
});

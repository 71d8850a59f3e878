import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../../web/api.js";
import { NoPath } from "../../web/call.js";
import { initial } from "../../web/events.js";
import { micProblem } from "../../web/mic.js";
import { micInWords, phaseInWords, problemInWords, servicesInWords } from "../../web/words.js";

const live = { ...initial, phase: "live" };

test("the state of the line is told in words, with the wait in the queue", () => {
  assert.equal(
    phaseInWords({ ...live, latency: { relayed: false, rtt_ms: 20 } }),
    "Connected directly",
  );
  assert.equal(
    phaseInWords({ ...live, latency: { relayed: true, rtt_ms: 140 } }),
    "Connected through a relay, but far away: answers feel slower",
  );
  assert.equal(
    phaseInWords({ ...live, queue: { position: 2, eta_s: 40 } }),
    "You are number 2 in line, about 40 seconds",
  );
  assert.equal(
    phaseInWords({ ...initial, phase: "full", retry_s: 180 }),
    "All places are taken, trying again in 3 minutes",
  );
});

test("every problem says what to do next, the server's own hint first", () => {
  assert.equal(
    problemInWords(new ApiError(403, { message: "No.", hint: "Ask the operator." })).advice,
    "Ask the operator.",
  );
  for (const status of [0, 400, 403, 404, 422, 429, 500, 503]) {
    const { title, advice } = problemInWords(new ApiError(status, {}));
    assert.ok(title && advice, `${status}`);
  }
});

test("declining the secret is no problem to explain", () => {
  assert.equal(problemInWords(new DOMException("", "AbortError")), null);
});

test("each way a microphone can fail has its own help", () => {
  const kinds = ["NotAllowedError", "NotFoundError", "NotReadableError"].map((name) =>
    micProblem(new DOMException("", name)),
  );
  assert.deepEqual(kinds, ["denied", "missing", "busy"]);
  const titles = [...kinds, "insecure", "gone"].map(
    (kind) => micInWords(kind, "http://10.0.0.1").title,
  );
  assert.equal(new Set(titles).size, 5);
  assert.equal(micInWords("open", ""), null);
});

test("a service that is down is named by what the user misses", () => {
  assert.equal(
    servicesInWords({ llm: "restarting" }),
    "It cannot look things up just now (restarting).",
  );
  assert.equal(servicesInWords({}), "");
});

test("a relay that refuses is told apart from a network that lets nothing through", () => {
  const refused = problemInWords(new NoPath("turn:x: Unauthorized (401)"));
  assert.match(refused.title, /relay turned the call away/);
  assert.match(refused.advice, /Unauthorized/);
  assert.match(problemInWords(new NoPath()).advice, /UDP/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { entryInWords, transcriptText } from "../../web/timeline.js";

const line = (role, text, more = {}) => ({
  key: text,
  role,
  text,
  status: "final",
  unsaid: "",
  at_ms: 0,
  response_ms: null,
  ...more,
});

test("the downloaded transcript tells who said what when, and what was cut off", () => {
  const lines = [
    line("user", "How long?"),
    line("assistant", " Five", { status: "cut", unsaid: "hours." }),
  ];
  assert.equal(
    transcriptText(lines, () => "12:00"),
    "[12:00] You: How long?\n\n[12:00] Umigame: Five — [cut off; unsaid: hours.]\n",
  );
});

test("a timeline entry reads as a time, what happened, and its details", () => {
  const entry = { at_s: 3.4, type: "reply_started", reply: 1, response_ms: 281, note: null };
  assert.deepEqual(entryInWords(entry), {
    time: "3.40 s",
    what: "reply started",
    detail: "reply 1, response 281 ms",
  });
});

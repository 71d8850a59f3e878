import assert from "node:assert/strict";
import { test } from "node:test";
import { initial, reduce } from "../../web/events.js";

/** @param {...any} events */
const after = (...events) => events.reduce((state, event, i) => reduce(state, event, i), initial);

const begin = { type: "local.call" };
const oracle = (epoch, text) => ({
  type: "umigame.oracle",
  epoch,
  source: "gpt",
  prompt: "?",
  text,
  final: true,
});
const partial = (text) => ({ type: "umigame.partial", item_id: "u1", text });
const heard = (transcript) => ({
  type: "conversation.item.input_audio_transcription.completed",
  item_id: "u1",
  transcript,
});
const turn = {
  type: "conversation.item.added",
  item: {
    id: "u1",
    type: "message",
    role: "user",
    content: [{ type: "input_audio", transcript: null }],
  },
};
const word = (delta) => ({ type: "response.output_audio_transcript.delta", item_id: "a1", delta });
const replyDone = (transcript, status) => {
  const item = {
    id: "a1",
    type: "message",
    role: "assistant",
    status,
    content: [{ type: "output_audio", transcript }],
  };
  return [
    { type: "response.output_audio_transcript.done", item_id: "a1", transcript },
    { type: "conversation.item.done", item },
    {
      type: "response.done",
      response: { status: status === "incomplete" ? "cancelled" : "completed", output: [item] },
    },
  ];
};
const truncated = {
  type: "conversation.item.truncated",
  item_id: "a1",
  content_index: 0,
  audio_end_ms: 400,
};
const shown = (state) => state.lines.map(({ role, text, status }) => [role, text.trim(), status]);

test("the page knows what answers and what could, from the first and from every later session", () => {
  const session = (type, llm) => ({ type, session: { umigame: { llm, llms: ["gpt", "claude"] } } });
  const state = after(begin, session("session.created", "gpt"), session("session.updated", "claude"));
  assert.deepEqual([state.llm, state.llms], ["claude", ["gpt", "claude"]]);
});

test("a partial may be reworded until its final, and not after", () => {
  const reworded = after(begin, partial("how long is"), partial("her song is"));
  assert.deepEqual(shown(reworded), [["user", "her song is", "partial"]]);
  const final = after(
    begin,
    partial("her song is"),
    turn,
    heard("How long is it?"),
    partial("late"),
  );
  assert.deepEqual(shown(final), [["user", "How long is it?", "final"]]);
});

test("a cough that was taken for speech leaves no line", () => {
  const state = after(begin, partial("uh"), { type: "conversation.item.deleted", item_id: "u1" });
  assert.deepEqual(state.lines, []);
});

test("a reply grows word by word and is final when all of it was played", () => {
  assert.deepEqual(shown(after(begin, word("Five"), word(" hours."))), [
    ["assistant", "Five hours.", "partial"],
  ]);
  const state = after(
    begin,
    word("Five"),
    word(" hours."),
    ...replyDone("Five hours.", "completed"),
  );
  assert.deepEqual(shown(state), [["assistant", "Five hours.", "final"]]);
});

test("an interrupted reply keeps what was played and strikes what the oracle still meant to say", () => {
  const state = after(
    begin,
    oracle(1, "About five hours, when asleep."),
    word("About"),
    word(" five"),
    ...replyDone("About five", "incomplete"),
    truncated,
  );
  assert.deepEqual(shown(state), [["assistant", "About five", "cut"]]);
  assert.equal(state.lines[0].unsaid, "hours, when asleep.");
});

test("words shown before the cut but never played are struck", () => {
  const state = after(
    begin,
    word("About five hours"),
    ...replyDone("About five", "incomplete"),
    truncated,
  );
  assert.equal(state.lines[0].text, "About five");
  assert.equal(state.lines[0].unsaid, "hours");
});

test("an oracle asked by the interruption does not hide what the cut reply meant to say", () => {
  const state = after(
    begin,
    oracle(1, "It sleeps under water."),
    word("It sleeps"),
    oracle(2, "Four minutes."),
    ...replyDone("It sleeps", "incomplete"),
  );
  assert.equal(state.lines[0].unsaid, "under water.");
});

test("an oracle of an older epoch never replaces a newer one", () => {
  const state = after(begin, oracle(2, "new"), oracle(1, "old"));
  assert.equal(state.oracles.at(-1).text, "new");
});

test("a lost line settles what was open and keeps the transcript and the token", () => {
  const state = after(
    begin,
    { type: "umigame.session", token: "t1" },
    { type: "output_audio_buffer.started" },
    word("About five"),
    partial("no"),
    { type: "local.lost" },
  );
  assert.deepEqual(shown(state), [
    ["assistant", "About five", "cut"],
    ["user", "no", "final"],
  ]);
  assert.equal(state.token, "t1");
  assert.equal(state.assistantSpeaks, false);
});

test("a later call goes on below the earlier one and may reuse its item ids", () => {
  const state = after(
    begin,
    turn,
    heard("One."),
    { type: "local.ended" },
    begin,
    turn,
    heard("Two."),
  );
  assert.deepEqual(
    shown(state).map(([role, text]) => [role, text]),
    [
      ["user", "One."],
      ["call", ""],
      ["user", "Two."],
    ],
  );
  assert.equal(state.token, null);
});

test("calls in which nobody spoke leave one mark, not many", () => {
  const ended = { type: "local.ended" };
  const state = after(begin, turn, heard("One."), ended, begin, ended, begin, turn, heard("Two."));
  assert.deepEqual(
    shown(state).map(([role]) => role),
    ["user", "call", "user"],
  );
});

test("typed words are final at once", () => {
  const item = {
    id: "u1",
    type: "message",
    role: "user",
    content: [{ type: "input_text", text: "Hello" }],
  };
  assert.deepEqual(shown(after(begin, { type: "conversation.item.added", item })), [
    ["user", "Hello", "final"],
  ]);
});

test("a response time belongs to the newest reply only", () => {
  const latency = (response_ms) => ({
    type: "umigame.latency",
    server_ms: 17,
    concealed_pct: 0,
    response_ms,
  });
  const state = after(begin, word("Five."), latency(310), latency(null), latency(999));
  assert.equal(state.lines[0].response_ms, 310);
});

test("a service that came back is no longer shown as down", () => {
  const service = (up) => ({ type: "umigame.service", service: "llm", up, message: "restarting" });
  assert.deepEqual(after(service(false)).down, { llm: "restarting" });
  assert.deepEqual(after(service(false), service(true)).down, {});
});

test("the queue is over at position 0", () => {
  const queue = (position) => ({ type: "umigame.queue", position, eta_s: 40 });
  assert.equal(after(queue(2)).queue.position, 2);
  assert.equal(after(queue(2), queue(0)).queue, null);
});

test("events it does not know change nothing", () => {
  assert.equal(reduce(initial, { type: "rate_limits.updated" }, 0), initial);
});

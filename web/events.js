// What the page knows, and how each event changes it. Pure: (state, event) → state.
// Server events carry OpenAI Realtime names or `umigame.*`; the page's own begin with `local.`.

import { change, cutOff, newLine, played, settle, upsert } from "./lines.js";

/** @typedef {import("./lines.js").Line} Line */
/** @typedef {import("./lines.js").Edit} Edit */

/**
 * @typedef {object} Oracle What the LLM says now.
 * @property {number} epoch
 * @property {string} source Model name.
 * @property {string} prompt The user's words it was asked with.
 * @property {string} text The whole answer so far.
 * @property {boolean} final
 */

/**
 * @typedef {object} Problem
 * @property {string} title
 * @property {string} advice What to do next.
 */

/**
 * @typedef {"idle" | "asking" | "connecting" | "live" | "unsteady" | "reconnecting" | "full" | "ended"} Phase
 */

/**
 * @typedef {object} State
 * @property {Phase} phase
 * @property {number} retry_s Seconds until the next attempt, in "full" and "reconnecting".
 * @property {Problem | null} problem
 * @property {import("./mic.js").MicState} mic
 * @property {boolean} muted
 * @property {boolean} silenced The browser refuses to play sound until the user clicks.
 * @property {number} call Counts the calls of this page.
 * @property {Line[]} lines
 * @property {boolean} userSpeaks
 * @property {boolean} replyPending A reply was begun and nothing of it sounds yet.
 * @property {boolean} assistantSpeaks
 * @property {Oracle[]} oracles Newest last, a few only.
 * @property {{position: number, eta_s: number | null} | null} queue
 * @property {Record<string, string>} down What is down, and what the server says about it.
 * @property {Record<string, number | boolean | null>} latency
 * @property {number} overloaded_ms When the server last could not keep up, epoch milliseconds.
 * @property {object[]} timeline
 * @property {string | null} token Resumes this call.
 * @property {string} llm What answers: a name, or several with commas between them.
 * @property {string[]} llms What could.
 */

/** @typedef {{type: string, [field: string]: any}} Event */

const ORACLES_KEPT = 4;
/** How long an overload is worth telling. */
const OVERLOAD_ms = 5000;
const TIMELINE_KEPT = 500;

/** @type {State} */
export const initial = {
  phase: "idle",
  retry_s: 0,
  problem: null,
  mic: { kind: "unknown" },
  muted: false,
  silenced: false,
  call: 0,
  lines: [],
  userSpeaks: false,
  replyPending: false,
  assistantSpeaks: false,
  oracles: [],
  queue: null,
  down: {},
  latency: {},
  overloaded_ms: 0,
  timeline: [],
  token: null,
  llm: "",
  llms: [],
};

/** @type {Record<string, (state: State, event: Event, now_ms: number) => State>} */
const handlers = {
  "local.phase": (state, { phase, retry_s = 0 }) => ({ ...state, phase, retry_s }),
  "local.problem": (state, { problem }) => ({ ...state, problem }),
  "local.mic": (state, { mic }) => ({ ...state, mic }),
  "local.muted": (state, { muted }) => ({ ...state, muted }),
  "local.silenced": (state, { silenced }) => ({ ...state, silenced }),
  "local.stats": (state, { stats }) => ({ ...state, latency: { ...state.latency, ...stats } }),
  "local.call": beginCall,
  "local.lost": hush,
  "local.ended": (state) => ({
    ...hush(state),
    phase: state.call ? "ended" : "idle",
    token: null,
    down: {},
  }),

  "input_audio_buffer.speech_started": (state) => ({ ...state, userSpeaks: true }),
  "input_audio_buffer.speech_stopped": (state) => ({ ...state, userSpeaks: false }),

  "conversation.item.added": addItem,
  "conversation.item.done": finishItem,
  "conversation.item.deleted": (state, { item_id }) => ({
    ...state,
    lines: state.lines.filter((line) => line.key !== keyOf(state, item_id)),
  }),
  "conversation.item.truncated": cutItem,
  "umigame.partial": (state, { item_id, text }, now_ms) =>
    editLine(state, item_id, "user", now_ms, (line) =>
      line.status === "partial" ? { ...line, text } : line,
    ),
  "conversation.item.input_audio_transcription.completed": (
    state,
    { item_id, transcript },
    now_ms,
  ) =>
    editLine(state, item_id, "user", now_ms, (line) => ({
      ...line,
      text: transcript,
      status: "final",
    })),
  "conversation.item.input_audio_transcription.failed": (state, { item_id }, now_ms) =>
    editLine(state, item_id, "user", now_ms, (line) => ({ ...line, status: "final" })),

  "response.created": (state) => ({ ...state, replyPending: true }),
  "response.output_item.added": addItem,
  "response.output_audio_transcript.delta": (state, { item_id, delta }, now_ms) =>
    editLine(state, item_id, "assistant", now_ms, (line) => ({ ...line, text: line.text + delta })),
  "response.output_audio_transcript.done": (state, { item_id, transcript }, now_ms) =>
    editLine(state, item_id, "assistant", now_ms, (line) => played(line, transcript)),
  "response.output_item.done": finishItem,
  "response.done": (state) => ({ ...state, replyPending: false }),
  "output_audio_buffer.started": (state) => ({
    ...state,
    replyPending: false,
    assistantSpeaks: true,
  }),
  "output_audio_buffer.stopped": (state) => ({ ...state, assistantSpeaks: false }),
  "output_audio_buffer.cleared": (state) => ({ ...state, assistantSpeaks: false }),
  error: (state, { error }) => ({
    ...state,
    problem: {
      title: error?.message ?? "The server reported an error.",
      advice: error?.hint ?? "",
    },
  }),

  "umigame.oracle": heardOracle,
  "umigame.timeline": (state, { entries }) => ({
    ...state,
    timeline: [...state.timeline, ...entries].slice(-TIMELINE_KEPT),
  }),
  "umigame.latency": takeLatency,
  "umigame.queue": (state, { position, eta_s }) => ({
    ...state,
    queue: position > 0 ? { position, eta_s: eta_s ?? null } : null,
  }),
  "umigame.overload": (state, _event, now_ms) => ({ ...state, overloaded_ms: now_ms }),
  "session.created": takeSession,
  "session.updated": takeSession,
  "umigame.session": (state, { token }) => ({ ...state, token }),
  "umigame.ended": (state) => ({ ...state, token: null }),
  "umigame.service": (state, { service, up, message }) => {
    const { [service]: _, ...others } = state.down;
    return { ...state, down: up ? others : { ...others, [service]: message ?? "" } };
  },
};

/**
 * The state after an event. Unknown events change nothing.
 * @param {State} state
 * @param {Event} event
 * @param {number} now_ms Epoch milliseconds.
 * @returns {State}
 */
export function reduce(state, event, now_ms) {
  const handler = handlers[event.type];
  return handler ? handler(state, event, now_ms) : state;
}

/** @param {State} state @param {string} id Item ids are unique within a call only. */
const keyOf = (state, id) => `${state.call}/${id}`;

/** @param {State} state Texts a reply may be speaking, newest first. */
const meant = (state) => state.oracles.map((oracle) => oracle.text).reverse();

/**
 * @param {State} state @param {string} id @param {Line["role"]} role @param {number} now_ms
 * @param {Edit} edit @returns {State}
 */
function editLine(state, id, role, now_ms, edit) {
  return { ...state, lines: upsert(state.lines, newLine(keyOf(state, id), role, now_ms), edit) };
}

/** @type {typeof handlers[string]} */
function beginCall(state, _event, now_ms) {
  const call = state.call + 1;
  const earlier = state.lines.at(-1)?.role === "call" ? state.lines.slice(0, -1) : state.lines;
  const lines = earlier.length ? [...earlier, newLine(`${call}/start`, "call", now_ms)] : [];
  const { mic, muted, silenced } = state;
  return { ...initial, mic, muted, silenced, call, lines };
}

/**
 * The line went dead: nobody speaks, and what was open stays as it is.
 * @param {State} state @returns {State}
 */
function hush(state) {
  const nobody = { userSpeaks: false, replyPending: false, assistantSpeaks: false };
  return { ...state, ...nobody, queue: null, lines: settle(state.lines, meant(state)) };
}

/** @param {any} item */
const itemText = (item) =>
  (item.content ?? [])
    .map((/** @type {any} */ part) => part.transcript ?? part.text ?? "")
    .join("");

/** @type {typeof handlers[string]} */
function addItem(state, { item }, now_ms) {
  if (item.type !== "message" || item.role === "system") return state;
  const typed = item.content?.some((/** @type {any} */ part) => part.type === "input_text");
  return editLine(state, item.id, item.role, now_ms, (line) => ({
    ...line,
    text: line.text || itemText(item),
    status: typed ? "final" : line.status,
  }));
}

/** @type {typeof handlers[string]} */
function finishItem(state, event, now_ms) {
  const next = addItem(state, event, now_ms);
  const { item } = event;
  if (item.type !== "message" || item.role !== "assistant") return next;
  const text = itemText(item);
  const done = editLine(next, item.id, "assistant", now_ms, (line) =>
    played(line, text || line.text),
  );
  return item.status === "incomplete"
    ? cutItem(done, { type: event.type, item_id: item.id }, now_ms)
    : done;
}

/** @type {typeof handlers[string]} */
function cutItem(state, { item_id }) {
  const texts = meant(state);
  return {
    ...state,
    lines: change(state.lines, keyOf(state, item_id), (line) => cutOff(line, texts)),
  };
}

/** @type {typeof handlers[string]} */
function heardOracle(state, { epoch, source, prompt, text, final }) {
  const earlier = state.oracles.filter((oracle) => oracle.epoch < epoch);
  const newer = state.oracles.some((oracle) => oracle.epoch > epoch);
  if (newer) return state;
  return {
    ...state,
    oracles: [...earlier, { epoch, source, prompt, text, final }].slice(-ORACLES_KEPT),
  };
}

/** @type {typeof handlers[string]} */
function takeSession(state, { session }) {
  const { llm = "", llms = [] } = session.umigame ?? {};
  return { ...state, llm, llms };
}

/** @type {typeof handlers[string]} */
function takeLatency(state, { server_ms, concealed_pct, response_ms }, now_ms) {
  const overloaded_ms = now_ms - state.overloaded_ms < OVERLOAD_ms ? state.overloaded_ms : 0;
  const latency = { ...state.latency, server_ms, concealed_pct };
  if (response_ms == null) return { ...state, overloaded_ms, latency };
  const last = state.lines.findLast((line) => line.role === "assistant");
  const lines = state.lines.map((line) =>
    line === last && line.response_ms === null ? { ...line, response_ms } : line,
  );
  return { ...state, overloaded_ms, latency: { ...latency, response_ms }, lines };
}

// What the page knows, and how each event changes it. Pure: (state, event) → state.
// Server events carry OpenAI Realtime names or `umigame.*`; the page's own begin with `local.`.

/**
 * @typedef {object} Line One utterance or reply in the transcript.
 * @property {string} key
 * @property {"user" | "assistant" | "call"} role "call" marks where a later call begins.
 * @property {string} text What was said so far.
 * @property {"partial" | "final" | "cut"} status
 * @property {string} unsaid What a cut reply still meant to say.
 * @property {number} at_ms Epoch milliseconds at which it appeared.
 * @property {number | null} response_ms From the end of the question to the first sound of this reply.
 */

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
 * @typedef {"idle" | "asking" | "connecting" | "queued" | "live" | "unsteady" | "reconnecting" | "full" | "ended"} Phase
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
 */

/** @typedef {{type: string, [field: string]: any}} Event */

const ORACLES_KEPT = 4;
const UNSAID_WORDS = 14;
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
};

const quiet = { userSpeaks: false, replyPending: false, assistantSpeaks: false };

/** @type {Record<string, (state: State, event: Event, now_ms: number) => State>} */
const handlers = {
  "local.phase": (state, { phase, retry_s = 0 }) => ({ ...state, phase, retry_s }),
  "local.problem": (state, { problem }) => ({ ...state, problem }),
  "local.mic": (state, { mic }) => ({ ...state, mic }),
  "local.muted": (state, { muted }) => ({ ...state, muted }),
  "local.silenced": (state, { silenced }) => ({ ...state, silenced }),
  "local.stats": (state, { stats }) => ({ ...state, latency: { ...state.latency, ...stats } }),
  "local.call": beginCall,
  "local.lost": (state) => ({ ...settle(state), ...quiet, queue: null }),
  "local.ended": (state) => ({
    ...settle(state),
    ...quiet,
    phase: state.call ? "ended" : "idle",
    queue: null,
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
  "conversation.item.truncated": (state, { item_id }) => change(state, item_id, cutOff(state)),
  "umigame.partial": (state, { item_id, text }, now_ms) =>
    upsert(state, item_id, "user", now_ms, (line) => (line.status === "partial" ? { ...line, text } : line)),
  "conversation.item.input_audio_transcription.completed": (state, { item_id, transcript }, now_ms) =>
    upsert(state, item_id, "user", now_ms, (line) => ({ ...line, text: transcript, status: "final" })),
  "conversation.item.input_audio_transcription.failed": (state, { item_id }) =>
    change(state, item_id, (line) => ({ ...line, status: "final" })),

  "response.created": (state) => ({ ...state, replyPending: true }),
  "response.output_item.added": addItem,
  "response.output_audio_transcript.delta": (state, { item_id, delta }, now_ms) =>
    upsert(state, item_id, "assistant", now_ms, (line) => ({ ...line, text: line.text + delta })),
  "response.output_audio_transcript.done": (state, { item_id, transcript }, now_ms) =>
    upsert(state, item_id, "assistant", now_ms, (line) => played(line, transcript)),
  "response.output_item.done": finishItem,
  "response.done": finishResponse,
  "output_audio_buffer.started": (state) => ({ ...state, replyPending: false, assistantSpeaks: true }),
  "output_audio_buffer.stopped": (state) => ({ ...state, assistantSpeaks: false }),
  "output_audio_buffer.cleared": (state) => ({ ...state, assistantSpeaks: false }),
  error: (state, { error }) => ({
    ...state,
    problem: { title: error?.message ?? "The server reported an error.", advice: error?.hint ?? "" },
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
  "umigame.session": (state, { token }) => ({ ...state, token }),
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

/**
 * The words of `texts` that follow what was spoken, from the first text that holds its last words.
 * @param {string} spoken
 * @param {string[]} texts Likeliest first.
 */
export function unsaidWords(spoken, texts) {
  const said = words(spoken);
  const tail = said.slice(-3).map(bare);
  for (const text of tail.length ? texts : []) {
    const meant = words(text);
    const end = nearestMatch(meant.map(bare), tail, said.length);
    if (end !== null && end < meant.length) {
      const rest = meant.slice(end, end + UNSAID_WORDS).join(" ");
      return end + UNSAID_WORDS < meant.length ? `${rest} …` : rest;
    }
  }
  return "";
}

/** @param {State} state @param {string} id Item ids are unique within a call only. */
const keyOf = (state, id) => `${state.call}/${id}`;

/** @param {string} text */
const words = (text) => text.split(/\s+/).filter(Boolean);

/** @param {string} word */
const bare = (word) => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/**
 * Where, just after `tail`, `meant` goes on; the match nearest to `near` wins.
 * @param {string[]} meant @param {string[]} tail @param {number} near
 */
function nearestMatch(meant, tail, near) {
  /** @type {number | null} */
  let best = null;
  for (let end = tail.length; end <= meant.length; end += 1) {
    const matches = tail.every((word, i) => meant[end - tail.length + i] === word);
    if (matches && (best === null || Math.abs(end - near) < Math.abs(best - near))) best = end;
  }
  return best;
}

/** @type {typeof handlers[string]} */
function beginCall(state, _event, now_ms) {
  const call = state.call + 1;
  /** @type {Line[]} */
  const lines = state.lines.length
    ? [...state.lines, newLine(`${call}/start`, "call", now_ms)]
    : [];
  const { mic, muted, silenced } = state;
  return { ...initial, mic, muted, silenced, call, lines };
}

/** @param {string} key @param {Line["role"]} role @param {number} at_ms @returns {Line} */
function newLine(key, role, at_ms) {
  return { key, role, text: "", status: "partial", unsaid: "", at_ms, response_ms: null };
}

/** @param {State} state @param {string} id @param {(line: Line) => Line} edit @returns {State} */
function change(state, id, edit) {
  const key = keyOf(state, id);
  return { ...state, lines: state.lines.map((line) => (line.key === key ? edit(line) : line)) };
}

/**
 * @param {State} state @param {string} id @param {Line["role"]} role @param {number} now_ms
 * @param {(line: Line) => Line} edit
 */
function upsert(state, id, role, now_ms, edit) {
  const key = keyOf(state, id);
  if (state.lines.some((line) => line.key === key)) return change(state, id, edit);
  return { ...state, lines: [...state.lines, edit(newLine(key, role, now_ms))] };
}

/** @param {any} item */
const itemText = (item) =>
  (item.content ?? []).map((/** @type {any} */ part) => part.transcript ?? part.text ?? "").join("");

/** @type {typeof handlers[string]} */
function addItem(state, { item }, now_ms) {
  if (item.type !== "message" || item.role === "system") return state;
  const typed = item.content?.some((/** @type {any} */ part) => part.type === "input_text");
  return upsert(state, item.id, item.role, now_ms, (line) => ({
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
  const cut = item.status === "incomplete";
  const edited = change(next, item.id, (line) => played(line, text || line.text));
  return cut ? change(edited, item.id, cutOff(state)) : edited;
}

/** @type {typeof handlers[string]} */
function finishResponse(state, { response }) {
  const items = response.output ?? [];
  const cut = response.status === "cancelled" || response.status === "incomplete";
  const next = { ...state, replyPending: false };
  if (!cut) return next;
  return items.reduce((/** @type {State} */ s, /** @type {any} */ item) => change(s, item.id, cutOff(state)), next);
}

/**
 * The reply ended having played `text`; words shown beyond it were never heard.
 * @param {Line} line @param {string} text @returns {Line}
 */
function played(line, text) {
  if (line.status === "cut") return line;
  const [shown, heard] = [line.text.trim(), text.trim()];
  const excess = shown.startsWith(heard) ? shown.slice(heard.length).trim() : "";
  return { ...line, text, status: excess ? "cut" : "final", unsaid: excess };
}

/** @param {State} state @returns {(line: Line) => Line} */
function cutOff(state) {
  const texts = state.oracles.map((oracle) => oracle.text).reverse();
  return (line) => ({
    ...line,
    status: "cut",
    unsaid: line.unsaid || unsaidWords(line.text, texts),
  });
}

/**
 * Nothing more will come for what is still open.
 * @param {State} state @returns {State}
 */
function settle(state) {
  const cut = cutOff(state);
  const lines = state.lines
    .filter((line) => line.text || line.role === "call")
    .map((line) => {
      if (line.status !== "partial" || line.role === "call") return line;
      return line.role === "assistant" ? cut(line) : { ...line, status: /** @type {const} */ ("final") };
    });
  return { ...state, lines };
}

/** @type {typeof handlers[string]} */
function heardOracle(state, { epoch, source, prompt, text, final }) {
  const earlier = state.oracles.filter((oracle) => oracle.epoch < epoch);
  const newer = state.oracles.some((oracle) => oracle.epoch > epoch);
  if (newer) return state;
  return { ...state, oracles: [...earlier, { epoch, source, prompt, text, final }].slice(-ORACLES_KEPT) };
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

// Wires the page: what the user does, the line, the microphone and the view, around one state.

import { ApiError, createApi } from "./api.js";
import { initial, reduce } from "./events.js";
import { Meter } from "./levels.js";
import { holdLine } from "./line.js";
import { Microphone } from "./mic.js";
import { askSecret } from "./secret.js";
import { readStats } from "./stats.js";
import { transcriptText } from "./timeline.js";
import { byId, isCalling, renderDevices, renderTimeline, View } from "./view.js";
import { Water } from "./water.js";
import { problemInWords } from "./words.js";

const STATS_ms = 1000;

const api = createApi(askSecret, sessionStorage);
const context = new AudioContext();
const meters = { user: new Meter(context), assistant: new Meter(context) };
const voice = byId("voice");

let state = initial;
/** @type {AbortController | null} Hangs up the call that is on. */
let line = null;
/** @type {import("./call.js").Call | null} */
let call = null;
/** @type {string[]} Typed before the line was up. */
let unsent = [];
let drawing = 0;

const view = new View({
  retryMic: () => (line ? mic.open() : start(true)),
  typeInstead: () => {
    dispatch({ type: "local.mic", mic: { kind: "none" } });
    byId("typed").focus();
  },
  unsilence: playVoice,
  dismiss: () => dispatch({ type: "local.problem", problem: null }),
});

const mic = new Microphone(
  context,
  (track) => {
    meters.user.listen(mic.isOpen ? new MediaStream([track]) : null);
    call?.replaceTrack(track);
  },
  (state) => dispatch({ type: "local.mic", mic: state }),
  renderDevices,
);

/** @param {import("./events.js").Event} event */
function dispatch(event) {
  state = reduce(state, event, Date.now());
  drawing ||= requestAnimationFrame(() => {
    drawing = 0;
    view.render(state);
  });
}

/**
 * Call, and hold the line until it is hung up; explain its end if that was not the user's wish.
 * @param {boolean} speaking With the microphone: without one there is no call but help.
 */
async function start(speaking) {
  context.resume();
  line = new AbortController();
  const { signal } = line;
  dispatch({ type: "local.problem", problem: null });
  try {
    if (speaking) {
      dispatch({ type: "local.phase", phase: "asking" });
      await mic.open();
      if (!mic.isOpen || signal.aborted) return;
    }
    dispatch({ type: "local.call" });
    dispatch({ type: "local.phase", phase: "connecting" });
    await holdLine(holder, signal);
  } catch (error) {
    // The server may have said already why it ended the call.
    if (!state.problem) explain(error);
  } finally {
    end();
  }
}

/** @param {unknown} error */
const explain = (error) => dispatch({ type: "local.problem", problem: problemInWords(error) });

/** @type {import("./line.js").Holder} */
const holder = {
  api,
  track: () => mic.track,
  token: () => state.token,
  onPhase: (phase, retry_s = 0) => dispatch({ type: "local.phase", phase, retry_s }),
  onCall,
  onLost: (error) => {
    call = null;
    dispatch({ type: "local.lost" });
    if (error instanceof ApiError && error.full) explain(error);
  },
  ends: { onEvent: dispatch, onAudio },
};

function end() {
  line = null;
  call = null;
  mic.close();
  meters.user.listen(null);
  meters.assistant.listen(null);
  dispatch({ type: "local.ended" });
}

/** @param {import("./call.js").Call} up */
function onCall(up) {
  dispatch({ type: "local.problem", problem: null });
  call = up;
  call.replaceTrack(mic.track);
  for (const text of unsent.splice(0)) say(text);
}

/** @param {MediaStream} stream */
function onAudio(stream) {
  voice.srcObject = stream;
  meters.assistant.listen(stream);
  playVoice();
}

/** Autoplay rules may hold the sound back until the next click. */
async function playVoice() {
  context.resume();
  const silenced = await voice.play().then(
    () => false,
    (/** @type {Error} */ error) => error.name === "NotAllowedError",
  );
  dispatch({ type: "local.silenced", silenced });
}

/** @param {string} text */
function say(text) {
  const content = [{ type: "input_text", text }];
  call?.send({
    type: "conversation.item.create",
    item: { type: "message", role: "user", content },
  });
  call?.send({ type: "response.create" });
}

/** @param {string} llm From the next question on. */
function chooseLlm(llm) {
  call?.send({ type: "session.update", session: { type: "realtime", umigame: { llm } } });
}

/** @param {SubmitEvent} event */
function onTyped(event) {
  event.preventDefault();
  const text = byId("typed").value.trim();
  if (!text) return;
  byId("typed").value = "";
  if (state.phase === "live") return say(text);
  unsent.push(text);
  if (isCalling(state)) return;
  dispatch({ type: "local.mic", mic: { kind: "none" } });
  start(false);
}

function toggleMute() {
  mic.mute(!state.muted);
  dispatch({ type: "local.muted", muted: mic.muted });
}

function hangUp() {
  unsent = [];
  dispatch({ type: "local.problem", problem: null });
  line?.abort();
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
    return;
  if (event.key === "Escape") return hangUp();
  if (!mic.isOpen || target.closest("input, select")) return;
  const space = event.key === " " && !target.closest("button");
  if (!space && event.key.toLowerCase() !== "m") return;
  event.preventDefault();
  if (!event.repeat) toggleMute();
}

function download() {
  const clock = (/** @type {number} */ at_ms) => new Date(at_ms).toLocaleTimeString();
  const url = URL.createObjectURL(
    new Blob([transcriptText(state.lines, clock)], { type: "text/plain" }),
  );
  const name = `umigame-${new Date().toISOString().slice(0, 16).replaceAll(":", "")}.txt`;
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

function showTimeline() {
  renderTimeline(state.timeline);
  byId("timeline-dialog").showModal();
}

let buffered = { delay_s: 0, samples: 0 };

async function measure() {
  if (!call || state.phase !== "live") return;
  const reading = readStats((await call.pc.getStats()).values(), buffered);
  buffered = reading.buffered;
  dispatch({ type: "local.stats", stats: reading.stats });
}

byId("start").addEventListener("click", () => start(true));
byId("hangup").addEventListener("click", hangUp);
byId("mute").addEventListener("click", () => (mic.isOpen ? toggleMute() : mic.open()));
byId("typing").addEventListener("submit", onTyped);
byId("microphone").addEventListener("change", () => mic.choose(byId("microphone").value));
byId("llm").addEventListener("change", () => chooseLlm(byId("llm").value));
byId("download").addEventListener("click", download);
byId("timeline-open").addEventListener("click", showTimeline);
addEventListener("keydown", onKey);
addEventListener("pagehide", hangUp);
setInterval(measure, STATS_ms);
new Water(() => [state.muted ? 0 : meters.user.level(), meters.assistant.level()]);
view.render(state);

// The page drawn from the state: everything but the transcript and the water.

import { followEnd } from "./follow.js";
import { entryInWords } from "./timeline.js";
import { TranscriptView } from "./transcript.js";
import {
  leadInWords,
  micInWords,
  milliseconds,
  percent,
  phaseInWords,
  servicesInWords,
} from "./words.js";

/** @typedef {import("./events.js").State} State */

/**
 * @typedef {object} Actions What a notice may offer.
 * @property {() => void} retryMic
 * @property {() => void} typeInstead
 * @property {() => void} unsilence
 * @property {() => void} dismiss
 */

/** @param {string} id @returns {any} */
export const byId = (id) => document.getElementById(id);

/** @param {HTMLElement} node @param {string} text */
function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export class View {
  /** @param {Actions} actions */
  constructor(actions) {
    this.actions = actions;
    this.notice = JSON.stringify("");
    const announcer = byId("announcer");
    this.settle = followEnd(byId("scroller"));
    this.transcript = new TranscriptView(byId("transcript"), (words) => setText(announcer, words));
  }

  /** @param {State} state */
  render(state) {
    document.body.dataset.phase = state.phase;
    document.body.toggleAttribute("data-muted", state.muted);
    renderState(state);
    byId("download").hidden = !state.lines.some((line) => line.text);
    byId("timeline-open").hidden = !state.timeline.length;
    this.transcript.render(state.lines);
    renderOracle(state);
    renderControls(state);
    renderLlms(state);
    renderLatency(state);
    this.renderNotice(state);
    this.settle();
  }

  /** @param {State} state */
  renderNotice(state) {
    const notice = noticeOf(state, this.actions);
    const fingerprint = JSON.stringify(notice ?? "");
    // Redrawing an alert makes a screen reader say it again.
    if (fingerprint === this.notice) return;
    this.notice = fingerprint;
    byId("notice").hidden = !notice;
    setText(byId("notice-title"), notice?.title ?? "");
    setText(byId("notice-advice"), notice?.advice ?? "");
    byId("notice-actions").replaceChildren(
      ...(notice?.actions ?? []).map(([label, act]) => button(label, act)),
    );
  }
}

/** @param {State} state */
export const isCalling = ({ phase }) => phase !== "idle" && phase !== "ended";

/**
 * The one thing most worth saying.
 * @param {State} state @param {Actions} actions
 * @returns {{title: string, advice: string, actions: [string, () => void][]} | null}
 */
function noticeOf(state, actions) {
  if (state.silenced) {
    return {
      title: "Your browser holds the sound back.",
      advice: "",
      actions: [["Let it speak", actions.unsilence]],
    };
  }
  if (state.problem) return { ...state.problem, actions: [["Dismiss", actions.dismiss]] };
  const mic = micInWords(state.mic.kind, location.origin);
  if (mic) {
    /** @type {[string, () => void][]} */
    const ways = [["Try again", actions.retryMic]];
    return {
      ...mic,
      actions: isCalling(state) ? ways : [...ways, ["Type instead", actions.typeInstead]],
    };
  }
  const down = servicesInWords(state.down);
  return down
    ? { title: down, advice: "The call goes on, and it recovers by itself.", actions: [] }
    : null;
}

/** @param {string} label @param {() => void} act */
function button(label, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

/**
 * Until something is said, the state of the line has the middle of the page.
 * @param {State} state
 */
function renderState(state) {
  const empty = !state.lines.some((line) => line.text.trim());
  const waits = isCalling(state) && (state.phase !== "live" || state.queue !== null);
  setText(byId("phase"), phaseInWords(state));
  byId("phase").classList.toggle("unseen", empty && waits);
  byId("welcome").hidden = !empty;
  byId("how").hidden = isCalling(state);
  setText(byId("lead"), leadInWords(state));
}

/** @param {State} state */
function renderOracle(state) {
  const oracle = isCalling(state) ? state.oracles.at(-1) : undefined;
  byId("oracle").hidden = !oracle;
  if (!oracle) return;
  byId("oracle").classList.toggle("final", oracle.final);
  setText(byId("oracle-epoch"), String(oracle.epoch));
  setText(byId("oracle-prompt"), oracle.prompt ? `“${oracle.prompt.trim()}”` : "");
  setText(byId("oracle-text"), oracle.text.trim() || "…");
  setText(byId("oracle-source"), oracle.source);
}

/** @param {State} state */
function renderControls(state) {
  const calling = isCalling(state);
  const focused = document.activeElement;
  byId("start").hidden = calling;
  byId("mute").hidden = !calling || state.phase === "asking";
  byId("hangup").hidden = !calling;
  setText(byId("start"), state.call ? "Start again" : "Start");
  setText(
    byId("mute"),
    state.mic.kind !== "open" ? "Use microphone" : state.muted ? "Unmute" : "Mute",
  );
  byId("mute").classList.toggle("on", state.muted && state.mic.kind === "open");
  // A control that vanishes must not take the keyboard's place with it.
  if (focused === byId("start") && calling) byId("hangup").focus();
  if ((focused === byId("hangup") || focused === byId("mute")) && !calling) byId("start").focus();
  setText(byId("you-do"), youDo(state));
  setText(byId("it-does"), itDoes(state));
}

/**
 * A race that was set up stays on offer beside its members.
 * @param {State} state
 */
function renderLlms(state) {
  const names = [...new Set([...state.llms, state.llm])];
  byId("llm-picker").hidden = !isCalling(state) || names.length < 2;
  const select = byId("llm");
  const shown = Array.from(select.options, (/** @type {HTMLOptionElement} */ each) => each.value);
  if (shown.join("\n") !== names.join("\n")) {
    select.replaceChildren(...names.map((name) => new Option(name.replaceAll(",", ", "), name)));
  }
  if (document.activeElement !== select) select.value = state.llm;
}

/** @param {State} state */
function youDo(state) {
  if (!isCalling(state)) return "";
  if (state.mic.kind === "unknown") return "";
  if (state.mic.kind !== "open") return "typing only";
  if (state.muted) return "muted";
  return state.userSpeaks ? "speaking" : "";
}

/** @param {State} state */
function itDoes(state) {
  if (state.phase !== "live" || state.queue) return "";
  if (state.assistantSpeaks) return "speaking";
  return state.replyPending ? "thinking" : "listening";
}

/** @param {State} state */
function renderLatency({ latency, phase }) {
  const figures = [
    ["Answered in", milliseconds(latency.response_ms)],
    ["Round trip", milliseconds(latency.rtt_ms)],
    ["Path", latency.relayed === true ? "relayed" : latency.relayed === false ? "direct" : ""],
    ["Jitter buffer", milliseconds(latency.jitter_buffer_ms)],
    ["Server", milliseconds(latency.server_ms)],
    ["Concealed", percent(latency.concealed_pct)],
  ].filter(([, value]) => value);
  byId("latency").hidden = !figures.length || phase === "idle";
  byId("latency").replaceChildren(
    ...figures.map(([name, value]) => {
      const pair = document.createElement("div");
      pair.append(document.createElement("dt"), document.createElement("dd"));
      setText(/** @type {HTMLElement} */ (pair.firstChild), name);
      setText(/** @type {HTMLElement} */ (pair.lastChild), value);
      return pair;
    }),
  );
}

/** @param {object[]} entries */
export function renderTimeline(entries) {
  byId("timeline").replaceChildren(
    ...entries.map((entry) => {
      const item = document.createElement("li");
      const { time, what, detail } = entryInWords(entry);
      for (const [tag, text] of [
        ["time", time],
        ["strong", what],
        ["span", detail],
      ]) {
        item.append(Object.assign(document.createElement(tag), { textContent: text }));
      }
      return item;
    }),
  );
}

/** @param {MediaDeviceInfo[]} devices @param {string} usedId */
export function renderDevices(devices, usedId) {
  const options = devices.map(
    (device, i) => new Option(device.label || `Microphone ${i + 1}`, device.deviceId),
  );
  byId("microphone").replaceChildren(
    ...(options.length ? options : [new Option("System default", "")]),
  );
  byId("microphone").value = usedId || options[0]?.value || "";
}

// States and errors in words, and what to do next. Pure.

import { ApiError } from "./api.js";
import { LineLost, NoPath } from "./call.js";

/** @typedef {import("./events.js").State} State */
/** @typedef {import("./events.js").Problem} Problem */

const FAR_ms = 100;

/** @type {Record<import("./events.js").Phase, (state: State) => string>} */
const phases = {
  idle: () => "",
  asking: () => "Allow the microphone in your browser",
  connecting: () => "Connecting",
  live: (state) => (state.queue ? inLine(state) : path(state)),
  unsteady: () => "The line is unsteady",
  reconnecting: () => "The line was lost, reconnecting",
  full: (state) => `All places are taken, trying again in ${seconds(state.retry_s)}`,
  ended: () => "Call ended",
};

/** @param {State} state */
export const phaseInWords = (state) => phases[state.phase](state);

/**
 * The page's one large sentence while nothing has been said.
 * @param {State} state
 */
export function leadInWords(state) {
  if (state.phase === "idle" || state.phase === "ended") return "Ask it something, aloud.";
  if (state.phase !== "live" || state.queue) return phaseInWords(state);
  return state.mic.kind === "open" ? "Go ahead, it is listening." : "Go ahead, type something.";
}

/** @param {State} state */
function inLine({ queue }) {
  if (!queue) return "Waiting for a free place";
  const wait = queue.eta_s === null ? "" : `, about ${seconds(queue.eta_s)}`;
  return `You are number ${queue.position} in line${wait}`;
}

/** @param {State} state */
function path({ latency, overloaded_ms }) {
  if (overloaded_ms) return "The server cannot keep up: bits of sound are dropped";
  const far = typeof latency.rtt_ms === "number" && latency.rtt_ms > FAR_ms;
  const how = latency.relayed
    ? "Connected through a relay"
    : latency.relayed === false
      ? "Connected directly"
      : "Connected";
  return far ? `${how}, but far away: answers feel slower` : how;
}

/** @param {number} s */
export function seconds(s) {
  if (s >= 90) return `${Math.round(s / 60)} minutes`;
  const whole = Math.max(1, Math.round(s));
  return whole === 1 ? "1 second" : `${whole} seconds`;
}

/** @param {number | boolean | null | undefined} ms */
export const milliseconds = (ms) => (typeof ms === "number" ? `${Math.round(ms)} ms` : "");

/**
 * A share worth telling, or "".
 * @param {number | boolean | null | undefined} share
 */
export const percent = (share) =>
  typeof share === "number" && share >= 0.1 ? `${share.toFixed(1)} %` : "";

/** @type {Record<string, string>} */
const services = {
  stt: "It cannot make out words just now",
  llm: "It cannot look things up just now",
  tts: "It has lost its voice just now",
};

/**
 * Back-ends that are down, as one sentence, or "".
 * @param {State["down"]} down
 */
export function servicesInWords(down) {
  return Object.entries(down)
    .map(
      ([service, message]) =>
        `${services[service] ?? `${service} is down`}${message ? ` (${message})` : ""}.`,
    )
    .join(" ");
}

/** @type {Record<number, Problem>} */
const answers = {
  0: {
    title: "The server cannot be reached.",
    advice: "Check that it is running and that you are online, then press Start.",
  },
  403: {
    title: "The server does not accept calls from this address.",
    advice:
      "Open the page at the address the server printed when it started, or add this one to its allowed origins.",
  },
  404: { title: "This conversation is over.", advice: "Press Start for a new one." },
};

/**
 * Why a call ended, or null if there is nothing to explain.
 * @param {unknown} error
 * @returns {Problem | null}
 */
export function problemInWords(error) {
  if (error instanceof ApiError) {
    const known = answers[error.status];
    return {
      title: known?.title ?? error.message,
      advice:
        error.hint || known?.advice || "Press Start to try again; the server's log says more.",
    };
  }
  if (error instanceof NoPath && error.relay) {
    return {
      title: "The relay turned the call away, and no other way was found.",
      advice: `Its words: ${error.relay}. Whoever runs the server should check turn.secret and the clocks: umigame doctor does.`,
    };
  }
  if (error instanceof NoPath) {
    return {
      title: "The server answers, but no sound can get through.",
      advice:
        "A firewall or VPN probably blocks UDP. Try another network, or set up a TURN relay on the server.",
    };
  }
  if (error instanceof LineLost)
    return { title: "The call was ended by the server.", advice: "Press Start to call again." };
  if (error instanceof Error && error.name === "AbortError") return null;
  return {
    title: "Something went wrong in this page.",
    advice: `${error}. Reload it and try again.`,
  };
}

/**
 * Help for a microphone that cannot be used, or null.
 * @param {import("./mic.js").MicState["kind"]} kind
 * @param {string} origin
 * @returns {Problem | null}
 */
export function micInWords(kind, origin) {
  switch (kind) {
    case "denied":
      return {
        title: "Your browser keeps the microphone from this page.",
        advice:
          "Click the icon left of the address, allow the microphone, and try again. If it is not listed there, look at your system's privacy settings.",
      };
    case "missing":
      return {
        title: "No microphone was found.",
        advice: "Plug one in and try again, or type instead.",
      };
    case "busy":
      return {
        title: "The microphone is there but gives no sound.",
        advice:
          "Another program may be holding it. Close that and try again, or pick another microphone.",
      };
    case "insecure":
      return {
        title: "Browsers give the microphone only to secure pages.",
        advice: `${origin} is plain HTTP. Open it as http://localhost, or over HTTPS.`,
      };
    case "gone":
      return {
        title: "Your microphone was unplugged.",
        advice: "Plug it in again to go on speaking; you can type meanwhile.",
      };
    default:
      return null;
  }
}

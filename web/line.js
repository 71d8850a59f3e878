// A conversation kept over several calls: dials, and dials again when the line is lost.

import { dial } from "./call.js";
import { nextStep } from "./redial.js";

/**
 * @typedef {object} Holder
 * @property {import("./api.js").Api} api
 * @property {() => MediaStreamTrack} track What to send now.
 * @property {() => string | null} token Resumes the conversation, once the server gave one.
 * @property {(phase: import("./events.js").Phase, retry_s?: number) => void} onPhase
 * @property {(call: import("./call.js").Call) => void} onCall
 * @property {(error: unknown) => void} onLost The line went down, or could not be had.
 * @property {Pick<import("./call.js").Ends, "onEvent" | "onAudio">} ends
 */

/**
 * Hold the line until it is hung up or beyond repair.
 * @param {Holder} holder
 * @param {AbortSignal} signal Hangs up.
 * @returns {Promise<never>} Rejects with the error that ended it; an AbortError after a hang-up.
 */
export async function holdLine(holder, signal) {
  let place = "";
  signal.addEventListener("abort", () => place && holder.api.hangUp(place), { once: true });
  const ends = {
    ...holder.ends,
    onPlace: (/** @type {string} */ location) => void (place = location),
    onSteady: (/** @type {boolean} */ steady) => holder.onPhase(steady ? "live" : "unsteady"),
  };
  let lost_ms = 0;
  for (let count = 0; ; count += 1) {
    try {
      const token = holder.token();
      const session = { type: "realtime", ...(token && { umigame: { resume: token } }) };
      const call = await dial(holder.api, holder.track(), session, ends, signal);
      lost_ms = 0;
      count = 0;
      holder.onPhase("live");
      holder.onCall(call);
      await call.lost;
    } catch (error) {
      signal.throwIfAborted();
      lost_ms ||= performance.now();
      holder.onLost(error);
      const resuming = holder.token() !== null;
      const step = nextStep({
        error,
        count,
        lost_s: (performance.now() - lost_ms) / 1000,
        resuming,
      });
      if (step.phase === "ended") throw error;
      holder.onPhase(step.phase, step.delay_s);
      await pause(step.delay_s, signal);
    }
  }
}

/**
 * Wait, but no longer than until the network is back.
 * @param {number} seconds @param {AbortSignal} signal @returns {Promise<void>}
 */
function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, seconds * 1000);
    addEventListener("online", done);
    signal.addEventListener("abort", done);
    function done() {
      clearTimeout(timer);
      removeEventListener("online", done);
      signal.removeEventListener("abort", done);
      if (signal.aborted) reject(signal.reason);
      else resolve();
    }
  });
}

// When to try again after a call failed or was lost, and for how long. Pure.

import { ApiError } from "./api.js";

const FIRST_s = 0.3;
const LONGEST_s = 8;
/** The server keeps a lost conversation this long by default. */
const GIVE_UP_s = 60;
const FULL_s = 5;

/**
 * @typedef {object} Attempt
 * @property {unknown} error Why the last one ended.
 * @property {number} count Attempts since the line was last up.
 * @property {number} lost_s How long the line has been down.
 * @property {boolean} resuming There is a conversation to go back to.
 */

/**
 * What to do next: wait and dial again, or stop.
 * @param {Attempt} attempt
 * @returns {{phase: "full" | "reconnecting", delay_s: number} | {phase: "ended"}}
 */
export function nextStep({ error, count, lost_s, resuming }) {
  if (error instanceof ApiError) {
    if (error.full) return { phase: "full", delay_s: error.retryAfter_s ?? FULL_s };
    if (error.status >= 400 && error.status < 500) return { phase: "ended" };
  }
  if (!resuming || lost_s > GIVE_UP_s) return { phase: "ended" };
  return { phase: "reconnecting", delay_s: Math.min(FIRST_s * 2 ** count, LONGEST_s) };
}

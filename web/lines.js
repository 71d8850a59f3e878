// The transcript's lines, and how they change. Pure.

import { unsaidWords } from "./unsaid.js";

/**
 * @typedef {object} Line One utterance or reply.
 * @property {string} key
 * @property {"user" | "assistant" | "call"} role "call" marks where a later call begins.
 * @property {string} text What was said so far.
 * @property {"partial" | "final" | "cut"} status
 * @property {string} unsaid What a cut reply still meant to say.
 * @property {number} at_ms Epoch milliseconds at which it appeared.
 * @property {number | null} response_ms From the end of the question to the first sound of this reply.
 */

/** @typedef {(line: Line) => Line} Edit */

/** @param {string} key @param {Line["role"]} role @param {number} at_ms @returns {Line} */
export function newLine(key, role, at_ms) {
  return { key, role, text: "", status: "partial", unsaid: "", at_ms, response_ms: null };
}

/** @param {Line[]} lines @param {string} key @param {Edit} edit */
export function change(lines, key, edit) {
  return lines.map((line) => (line.key === key ? edit(line) : line));
}

/**
 * Edit a line, or begin it.
 * @param {Line[]} lines @param {Line} fresh @param {Edit} edit
 */
export function upsert(lines, fresh, edit) {
  if (lines.some((line) => line.key === fresh.key)) return change(lines, fresh.key, edit);
  return [...lines, edit(fresh)];
}

/**
 * The reply ended having played `text`; words shown beyond it were never heard.
 * @param {Line} line @param {string} text @returns {Line}
 */
export function played(line, text) {
  if (line.status === "cut") return line;
  const [shown, heard] = [line.text.trim(), text.trim()];
  const excess = shown.startsWith(heard) ? shown.slice(heard.length).trim() : "";
  return { ...line, text, status: excess ? "cut" : "final", unsaid: excess };
}

/**
 * The reply was cut off.
 * @param {Line} line @param {string[]} meant What it may have been about to say, likeliest first.
 * @returns {Line}
 */
export function cutOff(line, meant) {
  return { ...line, status: "cut", unsaid: line.unsaid || unsaidWords(line.text, meant) };
}

/**
 * Nothing more will come for what is still open.
 * @param {Line[]} lines @param {string[]} meant @returns {Line[]}
 */
export function settle(lines, meant) {
  return lines
    .filter((line) => line.text || line.role === "call")
    .map((line) => {
      if (line.status !== "partial" || line.role === "call") return line;
      return line.role === "assistant" ? cutOff(line, meant) : { ...line, status: "final" };
    });
}

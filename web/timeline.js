// What happened, as text: the transcript for download, and the server's timeline. Pure.

/** @typedef {import("./lines.js").Line} Line */

const speakers = { user: "You", assistant: "Umigame" };

/**
 * The transcript as a text file.
 * @param {Line[]} lines
 * @param {(at_ms: number) => string} clock Local time of day.
 */
export function transcriptText(lines, clock) {
  return lines.map((line) => `${lineText(line, clock)}\n`).join("\n");
}

/** @param {Line} line @param {(at_ms: number) => string} clock */
function lineText(line, clock) {
  if (line.role === "call") return `— new call, ${clock(line.at_ms)} —`;
  const cut =
    line.status === "cut" ? ` — [cut off${line.unsaid ? `; unsaid: ${line.unsaid}` : ""}]` : "";
  return `[${clock(line.at_ms)}] ${speakers[line.role]}: ${line.text.trim()}${cut}`;
}

/**
 * A timeline entry as a time and words, whatever fields it has.
 * @param {Record<string, any>} entry
 * @returns {{time: string, what: string, detail: string}}
 */
export function entryInWords({ at_s, type, ...fields }) {
  const detail = Object.entries(fields)
    .filter(([, value]) => value !== null && value !== "")
    .map(
      ([name, value]) =>
        `${name.replace(/_ms$/, "").replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : value}${name.endsWith("_ms") ? " ms" : ""}`,
    );
  return {
    time: typeof at_s === "number" ? `${at_s.toFixed(2)} s` : "",
    what: String(type ?? "").replaceAll(/[_.]/g, " "),
    detail: detail.join(", "),
  };
}

// The conversation on the page: one list item a line, edited in place.

/** @typedef {import("./lines.js").Line} Line */

const speakers = { user: "You", assistant: "Umigame", call: "" };

export class TranscriptView {
  /**
   * @param {HTMLElement} list
   * @param {(words: string) => void} announce For screen readers.
   */
  constructor(list, announce) {
    this.list = list;
    this.announce = announce;
    /** @type {Map<string, {line: Line, item: HTMLElement}>} */
    this.shown = new Map();
  }

  /** @param {Line[]} lines */
  render(lines) {
    const visible = lines.filter((line) => line.text.trim() || line.role === "call");
    this.removeAbsent(visible);
    visible.forEach((line, at) => this.show(line, at));
  }

  /** @param {Line[]} lines */
  removeAbsent(lines) {
    const keys = new Set(lines.map((line) => line.key));
    for (const [key, { item }] of this.shown) {
      if (keys.has(key)) continue;
      item.remove();
      this.shown.delete(key);
    }
  }

  /** @param {Line} line @param {number} at */
  show(line, at) {
    const before = this.shown.get(line.key);
    if (before?.line === line) return;
    const item = lineItem(line);
    if (before) before.item.replaceWith(item);
    else this.list.insertBefore(item, this.list.children[at] ?? null);
    this.shown.set(line.key, { line, item });
    const nowComplete = line.status !== "partial" && (!before || before.line.status === "partial");
    if (nowComplete && line.role !== "call") this.announce(`${speakers[line.role]}: ${line.text}`);
  }
}

/** @param {Line} line */
function lineItem(line) {
  const item = element("li", `line ${line.role} ${line.status}`);
  if (line.role === "call") {
    item.textContent = "New call";
    return item;
  }
  const words = element("p", "words", line.text.trim());
  if (line.status === "cut") words.append(...cutMark(line.unsaid));
  item.append(element("span", "who", speakers[line.role]), words);
  if (line.response_ms !== null) {
    item.append(element("small", "speed", `answered in ${(line.response_ms / 1000).toFixed(2)} s`));
  }
  return item;
}

/** @param {string} unsaid */
function cutMark(unsaid) {
  const hint = element("span", "unseen", unsaid ? " Cut off before saying: " : " Cut off.");
  return unsaid ? [hint, " ", element("del", "unsaid", unsaid)] : ["\u200a—", hint];
}

/** @param {string} tag @param {string} className @param {string} text */
function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

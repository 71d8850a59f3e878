// What a reply that was cut off still meant to say, from the oracle's text. Pure.

const TAIL = 3;
const MOST_WORDS = 14;

/**
 * The words that follow what was spoken, in the first of `texts` that holds its last words.
 * @param {string} spoken
 * @param {string[]} texts Likeliest first.
 */
export function unsaidWords(spoken, texts) {
  const said = words(spoken);
  const tail = said.slice(-TAIL).map(bare);
  for (const text of tail.length ? texts : []) {
    const meant = words(text);
    const end = endOf(tail, meant.map(bare), said.length);
    if (end !== null && end < meant.length) {
      const rest = meant.slice(end, end + MOST_WORDS).join(" ");
      return end + MOST_WORDS < meant.length ? `${rest} …` : rest;
    }
  }
  return "";
}

/** @param {string} text */
const words = (text) => text.split(/\s+/).filter(Boolean);

/** @param {string} word */
const bare = (word) => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

/**
 * Where `meant` goes on after `tail`; of several places the one nearest to `near`.
 * @param {string[]} tail @param {string[]} meant @param {number} near
 */
function endOf(tail, meant, near) {
  const places = meant
    .map((_, i) => i + 1)
    .filter((end) => tail.every((word, i) => meant[end - tail.length + i] === word))
    // One or two words are found anywhere: they count at the beginning only.
    .filter((end) => tail.length === TAIL || end === tail.length)
    .sort((a, b) => Math.abs(a - near) - Math.abs(b - near));
  return places[0] ?? null;
}

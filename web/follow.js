// Keeps a scroller at its newest line while the reader is there, and lets them read back.

/** Closer to the bottom than this, they follow. */
const NEAR_px = 80;

/**
 * @param {HTMLElement} scroller
 * @returns {() => void} Call it when the content has changed.
 */
export function followEnd(scroller) {
  let following = true;
  const settle = () => {
    if (following) scroller.scrollTop = scroller.scrollHeight;
  };
  scroller.addEventListener("scroll", () => {
    following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_px;
  });
  new ResizeObserver(settle).observe(scroller);
  return settle;
}

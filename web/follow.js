// Keeps a scroller at its newest line while the reader is there, and lets them read back.

/** Closer to the bottom than this, they follow. */
const NEAR_px = 80;

/**
 * @param {HTMLElement} scroller
 * @returns {() => void} Call it when the content has changed.
 */
export function followEnd(scroller) {
  let following = true;
  let top = 0;
  const settle = () => {
    if (following) scroller.scrollTop = scroller.scrollHeight;
  };
  scroller.addEventListener("scroll", () => {
    const near = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR_px;
    // Content that grows leaves the end out of sight too; only a reader goes up.
    following = near || (following && scroller.scrollTop >= top);
    top = scroller.scrollTop;
  });
  new ResizeObserver(settle).observe(scroller);
  return settle;
}

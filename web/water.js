// Draws the waterline and the meters from the loudness of both sides.

import { byId } from "./view.js";
import { seaPath, surface } from "./wave.js";

/** Half the height of the drawing, so that troughs fit too. */
const CREST_px = 24;
/** Share of the way to a new level in one frame: quick to rise, slow to fall. */
const RISE = 0.5;
const FALL = 0.12;

export class Water {
  /** @param {() => [number, number]} levels Loudness of the user and of the assistant, 0..1. */
  constructor(levels) {
    this.levels = levels;
    this.left = 0;
    this.right = 0;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.draw = this.draw.bind(this);
    requestAnimationFrame(this.draw);
  }

  /** @param {number} now_ms */
  draw(now_ms) {
    requestAnimationFrame(this.draw);
    const [left, right] = this.levels();
    this.left = follow(this.left, left);
    this.right = follow(this.right, right);
    byId("you-level").value = this.left;
    byId("it-level").value = this.right;
    const water = byId("water");
    const { clientWidth: wide, clientHeight: high } = water;
    const time_s = this.still.matches ? 0 : now_ms / 1000;
    const [a, b] = this.still.matches ? [0, 0] : [this.left, this.right];
    const height = (/** @type {number} */ x) => surface(x, wide, time_s, a, b, CREST_px);
    water.firstElementChild.setAttribute("d", seaPath(wide, high, CREST_px, height));
    byId("swimmer").style.transform = `translate(-50%, ${(-height(0.5)).toFixed(1)}px)`;
  }
}

/** @param {number} shown @param {number} level */
const follow = (shown, level) => shown + (level - shown) * (level > shown ? RISE : FALL);

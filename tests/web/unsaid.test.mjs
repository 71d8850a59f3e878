import assert from "node:assert/strict";
import { test } from "node:test";
import { unsaidWords } from "../../web/unsaid.js";

test("unsaid words begin where the reply stopped, whatever its case and punctuation", () => {
  assert.equal(unsaidWords("the sea the", ["The sea, the sand, the sun."]), "sand, the sun.");
  assert.equal(
    unsaidWords("Well, let me see. The capital is", ["The capital is Canberra."]),
    "Canberra.",
  );
});

test("a phrase that comes twice is taken where the reply was", () => {
  const text = "It is a sea turtle, and it is a sea turtle that swims.";
  assert.equal(unsaidWords("It is a sea turtle, and it is a sea", [text]), "turtle that swims.");
});

test("nothing is struck when nothing shows what was meant", () => {
  assert.equal(unsaidWords("Well, let me see.", ["Canberra."]), "");
  assert.equal(unsaidWords("The", ["In the sea."]), "");
  assert.equal(unsaidWords("", ["Canberra."]), "");
  assert.equal(unsaidWords("Canberra.", ["Canberra."]), "");
});

test("a long rest is shortened", () => {
  const rest = unsaidWords("one two three", [`one two three ${"four ".repeat(20)}`]);
  assert.equal(rest, `${"four ".repeat(14)}…`);
});

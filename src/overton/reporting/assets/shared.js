"use strict";
// Whatever a model or an item wrote reaches the page only through textContent, never as markup.

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Control characters and those that change the writing direction are spelled out, as in [U+202E].
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]/g;

function visible(text) {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(UNSEEN, (c) => "[U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + "]");
}

const count = (number) => number.toLocaleString("en-US");

// Saves text or a blob as a file.
function save(name, type, saved) {
  const address = URL.createObjectURL(new Blob([saved], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// What a page shows where outputs are probabilities of classes.

import { datum, element, section, svg } from "./elements.js";
import { COLORS, percent, viridis } from "./numbers.js";

const MOST_CLASSES = 12; // listed at first

// Number of the largest of some numbers, of equal ones the first; null if they are not known.
export function largest(values) {
  if (!values || values[0] === null) return null;
  return values.reduce((best, value, k) => (value > values[best] ? k : best), 0);
}

export function classColor(k, count) {
  return viridis(k / Math.max(count - 1, 1));
}

// Which color stands for which class.
export function classKey(scene) {
  const entries = scene.outputs.map((name, k) => element("span", { class: "entry" }, swatch(k, scene.outputs.length), name));
  return element("span", { class: "key" }, ...entries);
}

function swatch(k, count) {
  const square = svg("rect", { x: 0, y: 0, width: 12, height: 12, fill: classColor(k, count) });
  return svg("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }, square);
}

// Probabilities of all classes, and which of them belong to the set; a click chooses one for the page.
export function classPanel(app) {
  const { scene, fit } = app;
  const order = [...scene.outputs.keys()].sort((a, b) => fit.outputs[b].value - fit.outputs[a].value || a - b);
  const shown = app.allClasses ? order : order.slice(0, MOST_CLASSES);
  const body = element("tbody", {}, ...shown.map((k) => classRow(app, k)));
  const head = ["class", "probability", "", "± error", `${percent(scene.coverage)} set`.replace(" %", "\u00a0%")].map((text) => element("th", { scope: "col" }, text));
  const table = element("table", { class: "classes" }, element("thead", {}, element("tr", {}, ...head)), body);
  const more = order.length > MOST_CLASSES ? element("button", { type: "button", click: () => app.toggle("allClasses") }, app.allClasses ? "fewer" : `all ${order.length} classes`) : null;
  const note = `Of new rows, ${percent(scene.coverage)} have their class in their set. Slopes and what-if are about the class chosen here: the most probable one, unless you choose another.`;
  return section("Classes", note, element("div", { class: "scroll" }, table), more);
}

function classRow(app, k) {
  const one = app.fit.outputs[k];
  const bar = svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: 0, y: 1, width: 100 * one.value, height: 10, fill: COLORS.positive }));
  const chosen = app.output === k;
  const button = element("button", { type: "button", "aria-pressed": String(chosen), click: () => app.choose(k) }, app.scene.outputs[k]);
  return element(
    "tr",
    { "data-class": k, class: chosen ? "chosen" : null },
    element("th", { scope: "row" }, button),
    element("td", { class: "bar" }, bar),
    element("td", {}, datum(one.value, "probability")),
    element("td", { class: "error" }, "± ", datum(one.std, "probability_std", 2)),
    element("td", {}, element("data", { value: one.in_set ? 1 : 0, "data-name": "in_set" }, one.in_set ? "yes" : "no")),
  );
}

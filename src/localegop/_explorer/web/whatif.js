// What if a feature were different? A slider for each; the true prediction follows.

import { datum, element, section, svg } from "./elements.js";
import { extent, format } from "./numbers.js";

export function whatIfPanel(app) {
  const profiles = app.original.profiles;
  if (!app.live && !profiles) {
    return section("What if?", "Not in this file: a model with strategy=\"query\" takes too long for it.");
  }
  const features = profiles ? profiles.features : [...app.scene.features.keys()].slice(0, 24);
  const note = app.live
    ? "Move features: a new fit is made at every move, and all of this page follows."
    : "Move one feature at a time: predictions at these places are in this file.";
  const body = element("div", { class: "whatif" }, ...features.map((j, k) => sliderOf(app, j, k)));
  const few = features.length < app.scene.features.length ? ` The ${features.length} most important features of ${app.scene.features.length}.` : "";
  const now = element(
    "p",
    { class: "facts", "aria-live": "polite" },
    `${app.predicted()} `,
    datum(app.whatIfValue(), "whatif", 6),
    app.moved ? ` (was ${format(app.original.outputs[app.output].value, 6)})` : "",
  );
  const back = element("button", { type: "button", disabled: !app.moved, click: () => app.moveBack() }, "as it was");
  return section("What if?", note + few, now, body, back);
}

function sliderOf(app, j, k) {
  const own = app.original.query[j];
  const at = app.query[j];
  const name = app.scene.features[j];
  const text = element("output", {}, format(at));
  const input = app.live ? freeSlider(app, j, own) : stepSlider(app, j, k, own);
  input.setAttribute("data-feature", j);
  input.setAttribute("aria-label", `what if ${name} were`);
  input.setAttribute("aria-valuetext", format(at));
  const head = element("span", { class: "name" }, name, " ", text);
  return element("label", { class: "slider" }, head, input, curve(app, k, own));
}

// Any value within the usual range.
function freeSlider(app, j, own) {
  const [low, high] = extent([...app.scene.range[j], own]);
  return element("input", {
    type: "range", min: low, max: high, step: "any", value: app.query[j],
    input: (event) => app.move(j, Number(event.target.value)),
  });
}

// The places whose predictions are known, and the row's own value among them.
function stepSlider(app, j, k, own) {
  const places = placesOf(app.original.profiles, k, own);
  const value = places.findIndex(({ place }) => place === app.query[j]);
  return element("input", {
    type: "range", min: 0, max: places.length - 1, step: 1, value,
    input: (event) => app.moveAlone(j, places[Number(event.target.value)].place),
  });
}

export function placesOf(profiles, k, own) {
  const found = profiles.places[k].map((place, g) => ({ place, g }));
  if (!found.some(({ place }) => place === own)) found.push({ place: own, g: null });
  return found.sort((a, b) => a.place - b.place);
}

// The prediction along the feature, as a small curve.
function curve(app, k, own) {
  const profiles = app.original.profiles;
  if (!profiles) return null;
  const value = app.original.outputs[app.output].value;
  const points = placesOf(profiles, k, own).map(({ place, g }) => [place, g === null ? value : profiles.values[app.output][k][g]]);
  const all = profiles.values[app.output].flat();
  const [low, high] = extent([...all, value]);
  const [from, to] = extent(points.map(([place]) => place));
  // As the slider above moves: freely, or from place to place.
  const across = points.map(([place], i) => 100 * (app.live ? (place - from) / (to - from) : i / (points.length - 1)));
  const y = (height) => 27 - (24 * (height - low)) / (high - low);
  const path = points.map(([, height], i) => `${i ? "L" : "M"}${across[i].toFixed(2)} ${y(height).toFixed(2)}`).join("");
  const here = across[points.findIndex(([place]) => place === own)];
  return svg(
    "svg",
    { viewBox: "0 0 100 30", class: "curve", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("line", { x1: here, x2: here, y1: 0, y2: 30, class: "own" }),
    svg("path", { d: path }),
  );
}

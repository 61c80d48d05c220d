// What is known about the chosen row: numbers, slopes, steps of the recursion, spectrum, neighbors.

import { datum, element, section, svg } from "./elements.js";
import { COLORS, format, percent } from "./numbers.js";
import { largest } from "./classes.js";

const MOST_BARS = 12;
const MOST_LISTED = 10;

export function answerPanel(app) {
  const { fit, scene } = app;
  const one = fit.outputs[app.output];
  const facts = [
    ...(scene.classes ? classFacts(app, one) : numberFacts(app, one)),
    ["rows that count", datum(one.effective_size, "effective_size")],
    ["directions in which it varies", datum(one.intrinsic_dimension, "intrinsic_dimension")],
    ["distance to the data", datum(one.remoteness, "remoteness", 3)],
  ];
  const list = element("dl", {});
  for (const [name, value] of facts) list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  const name = app.moved ? `Row ${scene.numbers[app.row]}, moved` : `Row ${scene.numbers[app.row]}`;
  return section(name, null, statusLine(one), list);
}

// Prediction, the label if it is known, and how certain the prediction is.
function numberFacts(app, one) {
  const { scene } = app;
  const label = app.moved ? null : scene.labels?.[app.row]?.[app.output];
  return [
    ["prediction", datum(one.value, "value", 6)],
    ...(label === null || label === undefined ? [] : [[scene.outputs[app.output], datum(label, "label", 6)]]),
    [`${percent(scene.coverage)} interval`, interval(one.interval)],
    ["standard error", datum(one.std, "std")],
    ["noise nearby", datum(one.noise, "noise")],
  ];
}

// The same of classes.
function classFacts(app, one) {
  const { scene } = app;
  const label = app.moved ? null : largest(scene.labels?.[app.row]);
  return [
    ["most probable class", element("data", { value: app.likelyClass(), "data-name": "class" }, app.likelyClass())],
    ...(label === null ? [] : [[scene.target, element("data", { value: scene.outputs[label], "data-name": "label" }, scene.outputs[label])]]),
    [app.predicted(), datum(one.value, "value", 6)],
    ["its standard error", datum(one.std, "std")],
  ];
}

function interval([low, high]) {
  return element("span", {}, datum(low ?? -Infinity, "lower"), " to ", datum(high ?? Infinity, "upper"));
}

function statusLine(one) {
  const fine = one.status === "ok";
  const beyond = one.remoteness > 1 ? "Beyond the data: " : "";
  const text = fine ? "✓ within the data" : `⚠ ${beyond}${one.status_text}`;
  return element("p", { class: fine ? "status fine" : "status careful", "data-status": one.status }, text);
}

// Bars of the slope per standard deviation of each feature, with error where it is known.
export function slopePanel(app) {
  const one = app.fit.outputs[app.output];
  const slope = one.gradient.map((value, j) => value * one.feature_scale[j]);
  const error = one.gradient_std?.map((value, j) => value * one.feature_scale[j]);
  const order = [...slope.keys()].sort((a, b) => Math.abs(slope[b]) - Math.abs(slope[a]));
  const shown = app.allBars ? order : order.slice(0, MOST_BARS);
  const reach = Math.max(...slope.map((value, j) => Math.abs(value) + (error?.[j] ?? 0)), Number.MIN_VALUE);
  const body = element("tbody");
  for (const j of shown) {
    const share = one.importance?.[j];
    const deviation = one.importance_std?.[j];
    body.append(
      element(
        "tr",
        { "data-feature": j },
        element("th", { scope: "row" }, app.scene.features[j]),
        element("td", { class: "bar" }, slopeBar(slope[j], error?.[j], reach)),
        element("td", {}, datum(one.gradient[j], "gradient", 3), plusMinus(one.gradient_std?.[j], "gradient_std")),
        element("td", {}, element("data", { value: share ?? "", "data-name": "importance" }, share === null || share === undefined ? "–" : percent(share)), plusMinus(deviation, "importance_std", deviation === null || deviation === undefined ? "" : `${format(100 * deviation, 2)} %`)),
      ),
    );
  }
  const head = ["feature", "slope per sd", "gradient", "importance"].map((text) => element("th", { scope: "col" }, text));
  const table = element("table", { class: "slopes" }, element("thead", {}, element("tr", {}, ...head)), body);
  const more = order.length > MOST_BARS ? element("button", { type: "button", click: () => app.toggle("allBars") }, app.allBars ? "fewer" : `all ${order.length} features`) : null;
  const note = `How the ${app.predicted()} changes: per standard deviation of a feature (bars${error ? ", with standard errors" : ""}) and per unit (gradient).`;
  return section("Slopes here", note, element("div", { class: "scroll" }, table), more);
}

function plusMinus(value, name, shown = format(value, 2)) {
  if (value === null || value === undefined) return null;
  return element("data", { value, "data-name": name, class: "error" }, ` ± ${shown}`);
}

function slopeBar(value, error, reach) {
  const x = 50 + (46 * value) / reach;
  const bar = svg("rect", {
    x: Math.min(50, x), y: 4, width: Math.abs(x - 50), height: 12,
    fill: value < 0 ? COLORS.negative : COLORS.positive,
  });
  const parts = [bar, svg("line", { x1: 50, x2: 50, y1: 0, y2: 20, class: "axis" })];
  if (error !== undefined && error !== null) {
    const half = (46 * error) / reach;
    parts.push(svg("line", { x1: x - half, x2: x + half, y1: 10, y2: 10, class: "whisker" }));
  }
  return svg("svg", { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts);
}

export function stepPanel(app) {
  const one = app.fit.outputs[app.output];
  const count = one.steps.length;
  if (count < 2) {
    return section("Steps of the recursion", "Step 0: one metric everywhere, no local steps were used.");
  }
  const step = app.step ?? count;
  const slider = element("input", {
    type: "range", min: 0, max: count, step: 1, value: step, "aria-label": "step of the recursion",
    "data-name": "step", input: (event) => app.setStep(Number(event.target.value) === count ? null : Number(event.target.value)),
  });
  const at = step < count ? one.steps[step] : null;
  const text = at ? `step ${step}` : "final fit";
  slider.setAttribute("aria-valuetext", text);
  const facts = at
    ? [datum(at.effective_size, "step_effective_size"), ` rows count, linear fit ${app.scene.classes ? "of zeros and ones " : ""}`, datum(at.value, "step_value", 5), ", root mean square error nearby ", datum(Math.sqrt(at.loo_error), "step_error")]
    : [datum(one.effective_size, "step_effective_size"), ` rows count, ${app.predicted()} `, datum(one.value, "step_value", 5)];
  return section(
    "Steps of the recursion",
    "How the neighborhood, the ellipse on the map, came about.",
    element("label", { class: "slider" }, element("span", {}, text), slider),
    element("p", { class: "facts" }, ...facts),
  );
}

export function spectrumPanel(app) {
  const one = app.fit.outputs[app.output];
  const total = one.spectrum.reduce((sum, value) => sum + value, 0);
  if (!(total > 0)) return section("Directions (AGOP spectrum)", "No slope was found here.");
  const rows = one.spectrum.slice(0, 6).map((value, k) => {
    const bar = svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: 0, y: 1, width: (100 * value) / total, height: 10, fill: COLORS.positive }));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, `${k + 1}`),
      element("td", { class: "bar" }, bar),
      element("td", {}, element("data", { value, "data-name": "spectrum" }, percent(value / total))),
      element("td", { class: "direction" }, k < one.directions.length ? combination(one, k, app.scene.features) : ""),
    );
  });
  return section(
    "Directions (AGOP spectrum)",
    "Share of the squared slope nearby in each direction, features in standard deviations.",
    element("div", { class: "scroll" }, element("table", { class: "spectrum" }, element("tbody", {}, ...rows))),
  );
}

// A direction by its largest entries: 0.9 a − 0.4 b.
function combination(one, k, names) {
  const entries = one.directions[k].map((value, j) => value * one.feature_scale[j]);
  const order = [...entries.keys()].sort((a, b) => Math.abs(entries[b]) - Math.abs(entries[a]));
  const parts = order.slice(0, 3).filter((j) => Math.abs(entries[j]) >= 0.05);
  return parts
    .map((j, place) => `${entries[j] < 0 ? "− " : place ? "+ " : ""}${Math.abs(entries[j]).toFixed(2)} ${names[j]}`)
    .join(" ");
}

export function neighborPanel(app) {
  const one = app.fit.outputs[app.output];
  const near = app.neighborRows();
  const heaviest = near.length ? near[0].weight : 1;
  const listed = app.allNeighbors ? near : near.slice(0, MOST_LISTED);
  const body = element("tbody");
  for (const { index, weight, row, label } of listed) {
    const bar = svg("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: 0, y: 1, width: (100 * weight) / heaviest, height: 10, fill: COLORS.positive }));
    const title = app.scene.features.slice(0, 12).map((name, j) => `${name}: ${format(row[j])}`).join("\n");
    body.append(
      element(
        "tr",
        { title },
        element("th", { scope: "row" }, element("data", { value: index, "data-name": "neighbor" }, String(index + app.first))),
        element("td", { class: "bar" }, bar),
        element("td", {}, datum(weight, "weight", 3)),
        element("td", {}, app.scene.classes ? app.scene.outputs[largest(label)] : format(label?.[app.output])),
      ),
    );
  }
  const labels = app.scene.classes ? app.scene.target : app.scene.outputs[app.output];
  const head = ["training row", "", "weight", labels].map((text) => element("th", { scope: "col" }, text));
  const held = near.reduce((sum, { weight }) => sum + weight, 0);
  const more = near.length > MOST_LISTED ? element("button", { type: "button", click: () => app.toggle("allNeighbors") }, app.allNeighbors ? "fewer" : `all ${near.length}`) : null;
  const note = `${one.neighbors.count} training rows contribute; the ${near.length} heaviest, which the map shows as rings, have ${percent(held)} of the weight.`;
  return section("Neighbors", note, element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...head)), body)), more);
}

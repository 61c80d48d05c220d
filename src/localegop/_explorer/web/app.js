// The page: what is chosen, and what is drawn when that changes.

import { choice, element, section } from "./elements.js";
import { extent, format, percent } from "./numbers.js";
import { classKey, classPanel, largest } from "./classes.js";
import { PointMap } from "./map.js";
import { RowTable } from "./table.js";
import { answerPanel, neighborPanel, slopePanel, spectrumPanel, stepPanel } from "./details.js";
import { whatIfPanel } from "./whatif.js";

const VIEWS = [["scatter", "Scatter"], ["image", "Image"], ["table", "Table"]];

export class App {
  // host.ask(queries, profiles) resolves to {fits, training}; null if all answers are in the scene.
  constructor(root, scene, host) {
    Object.assign(this, { root, scene, host, live: host !== null, output: 0, fixed: false, view: scene.view ?? "scatter" });
    Object.assign(this, { row: null, fit: null, original: null, query: null, step: null, moved: false });
    Object.assign(this, { zoom: false, flip: false, allBars: false, allClasses: false, allNeighbors: false, asked: 0 });
    this.first = scene.first ?? 0;
    this.training = new Map();
    this.answers = new Map();
    this.cache = new Map();
    this.startAxes();
    if (scene.fits) scene.fits.forEach((fit, i) => this.answers.set(i, fit));
    if (scene.training) this.learn(scene.training);
    this.map = new PointMap(this);
    this.table = new RowTable(this);
    this.build();
    this.redraw();
    if (scene.rows.length) this.select(0);
  }

  startAxes() {
    const features = this.scene.axes.slice(0, Math.min(this.scene.axes.length, this.scene.features.length));
    const order = [...features.keys()];
    const importance = this.scene.importance;
    if (importance && this.scene.features.length <= features.length) order.sort((a, b) => importance[b] - importance[a]);
    const pair = order.slice(0, 2).sort((a, b) => a - b);
    [this.x, this.y] = [String(pair[0]), pair.length > 1 ? String(pair[1]) : "value"];
    if (this.view === "image" && this.scene.features.length === 2) [this.x, this.y, this.flip] = ["1", "0", true];
    this.color = this.scene.classes ? "likely" : "value";
  }

  learn({ index, rows, labels }) {
    index.forEach((number, k) => this.training.set(number, { row: rows[k], label: labels[k] }));
  }

  build() {
    const { scene } = this;
    this.said = element("p", { class: "hidden", "aria-live": "polite" });
    this.problem = element("p", { class: "problem", role: "alert" });
    this.tabs = element("div", { class: "tabs", role: "group", "aria-label": "view" });
    this.controls = element("div", { class: "controls" });
    this.canvas = element("div", { class: "view" });
    this.legend = element("div", { class: "legend" });
    this.panel = element("div", { class: "panel" });
    const count = `${scene.rows.length.toLocaleString("en")} rows, ${scene.features.length} features`;
    const head = element("header", {}, element("h1", {}, scene.title), element("p", { class: "note" }, `${count}; ${this.live ? "live" : "a file with all answers in it"}; localegop ${scene.version}`));
    const left = element("div", { class: "left" }, this.tabs, this.controls, this.canvas, this.legend, this.about());
    this.root.replaceChildren(head, this.problem, element("main", {}, left, this.panel), this.said);
    this.root.classList.add("localegop-explorer");
  }

  about() {
    const model = element("details", {}, element("summary", {}, "About the model"), element("pre", {}, this.scene.summary));
    const { importance, importance_std: errors } = this.scene;
    if (importance) {
      const order = [...importance.keys()].sort((a, b) => importance[b] - importance[a]).slice(0, 10);
      const items = order.map((j) => element("li", {}, `${this.scene.features[j]}: ${percent(importance[j])}${errors ? ` ± ${format(100 * errors[j], 2)} %` : ""}`));
      model.append(element("p", {}, "Importance over all training rows:"), element("ol", {}, ...items));
    }
    return model;
  }

  redraw() {
    this.drawControls();
    this.canvas.replaceChildren(this.view === "table" ? this.table.node : this.map.node);
    if (this.view === "table") this.table.draw();
    else this.map.draw();
    this.drawLegend();
    this.drawPanel();
  }

  drawControls() {
    const buttons = VIEWS.map(([view, text]) => element("button", { type: "button", "aria-pressed": String(this.view === view), "data-view": view, click: () => this.change({ view }) }, text));
    this.tabs.replaceChildren(...buttons);
    const axes = [
      ...this.scene.axes.map(({ name }, k) => [String(k), name]),
      ["local0", "first direction at the chosen row, sd"],
      ["local1", "second direction at the chosen row, sd"],
      ["value", this.predicted()],
      ...(this.scene.labels && !this.scene.classes ? [["label", `${this.scene.outputs[this.output]} (label)`]] : []),
    ];
    const colors = [["value", this.predicted()], ...this.otherColors()];
    const check = (name, text) => element("label", { class: "check" }, element("input", { type: "checkbox", checked: this[name], change: () => this.toggle(name) }), text);
    const parts = [];
    if (this.scene.outputs.length > 1) parts.push(choice(this.scene.classes ? "class" : "output", this.scene.outputs.map((name, k) => [k, name]), this.output, (k) => this.choose(Number(k))));
    if (this.view !== "table") {
      parts.push(choice("across", axes, this.x, (x) => this.change({ x })), choice("up", axes, this.y, (y) => this.change({ y })));
      parts.push(choice("color", colors, this.color, (color) => this.change({ color })));
      parts.push(check("zoom", "zoom to the neighbors"), check("flip", "upside down"));
    }
    this.controls.replaceChildren(...parts);
  }

  // What the numbers of the chosen output are.
  predicted() {
    const { classes, outputs } = this.scene;
    return classes ? `probability of ${outputs[this.output]}` : "prediction";
  }

  otherColors() {
    const { classes, labels, target } = this.scene;
    if (classes) return [["likely", "most probable class"], ...(labels ? [["label", `${target} (label)`]] : [])];
    return labels ? [["label", "label"], ["error", "label minus prediction"]] : [];
  }

  // Whether colors stand for classes.
  colorsClasses() {
    return this.scene.classes && this.color !== "value";
  }

  drawLegend() {
    if (this.view === "table") return this.legend.replaceChildren();
    const [low, high] = this.colorExtent();
    const ramp = () => element("span", { class: "scale" }, format(low, 3), element("span", { class: "ramp" }), format(high, 3));
    const scale = this.colorsClasses() ? classKey(this.scene) : ramp();
    const grid = this.view === "image" && !this.map.grid ? "These two columns make no grid of pixels: choose others. " : "";
    const text = `${grid}+ the chosen row; rings: its neighbors; ellipses: one and two standard deviations of its neighborhood, held within the data; squares: rows beyond the data.`;
    return this.legend.replaceChildren(scale, element("p", { class: "note" }, text));
  }

  drawPanel() {
    if (!this.fit) {
      const text = "Click a point, a pixel or a row of the table, or use the arrow keys on the map.";
      return this.panel.replaceChildren(section("Choose a row", text));
    }
    const classes = this.scene.classes ? { classes: classPanel } : {};
    const parts = { answer: answerPanel, ...classes, whatif: whatIfPanel, slopes: slopePanel, steps: stepPanel, spectrum: spectrumPanel, neighbors: neighborPanel };
    for (const [name, panel] of Object.entries(parts)) this.replacePanel(name, panel(this));
    return undefined;
  }

  // Replaces a part of the panel, and leaves the focus, and a slider that is being dragged, where they are.
  replacePanel(name, content) {
    const old = this.panel.querySelector(`[data-panel=${name}]`);
    content.setAttribute("data-panel", name);
    if (!old) {
      if (name === "answer") this.panel.replaceChildren();
      return this.panel.append(content);
    }
    const held = old.contains(document.activeElement) ? document.activeElement : this.root.getRootNode().activeElement;
    if (held && old.contains(held) && held.type === "range") return this.refill(old, content, held);
    old.replaceWith(content);
    if (held && old.contains(held)) return this.refocus(content, held);
    return undefined;
  }

  // The button that was pressed keeps the focus.
  refocus(content, held) {
    const twin = [...content.querySelectorAll(held.tagName)].find(({ textContent }) => textContent === held.textContent);
    return twin?.focus();
  }

  refill(old, content, held) {
    const key = held.getAttribute("data-feature") ?? held.getAttribute("data-name");
    const twin = [...content.querySelectorAll("input")].find((input) => (input.getAttribute("data-feature") ?? input.getAttribute("data-name")) === key);
    if (!twin) return old.replaceWith(content);
    held.setAttribute("aria-valuetext", twin.getAttribute("aria-valuetext"));
    const kept = held.closest("label");
    const fresh = twin.closest("label");
    kept.querySelector("span").replaceWith(fresh.querySelector("span"));
    const from = [...old.querySelectorAll(".slider")];
    [...content.querySelectorAll(".slider")].forEach((label, k) => {
      if (from[k] !== kept) from[k].replaceWith(label);
    });
    old.querySelector(".facts").replaceWith(content.querySelector(".facts"));
    const button = old.querySelector("button");
    if (button) button.disabled = false;
    return undefined;
  }

  change(what) {
    Object.assign(this, what);
    this.forgetDirections();
    this.redraw();
  }

  // An output for the whole page, whatever row is chosen next.
  choose(output) {
    this.change({ output, fixed: true });
  }

  // Those at the chosen row, which every output has of its own.
  forgetDirections() {
    this.cache.delete("local0");
    this.cache.delete("local1");
  }

  toggle(name) {
    this.change({ [name]: !this[name] });
  }

  setStep(step) {
    this.step = step;
    this.map.drawTop();
    this.replacePanel("steps", stepPanel(this));
  }

  async select(row) {
    const ticket = ++this.asked;
    const known = this.answers.get(row);
    const answer = known ?? (await this.ask(this.scene.rows[row], true));
    if (!answer || ticket !== this.asked) return;
    this.answers.set(row, answer);
    Object.assign(this, { row, fit: answer, original: answer, query: [...answer.query], moved: false, step: null });
    this.forgetDirections();
    this.table.show(row);
    this.follow();
    const one = answer.outputs[this.output];
    const value = this.scene.classes ? this.likelyClass() : format(one.value);
    this.said.textContent = `Row ${this.scene.numbers[row]}: prediction ${value}, ${one.status_text}`;
    this.root.dataset.row = row;
  }

  // Of classes the most probable one is shown, up to when the user chooses another.
  follow() {
    const likely = this.scene.classes && !this.fixed ? largest(this.fit.outputs.map(({ value }) => value)) : this.output;
    if (likely === this.output) this.refresh();
    else this.change({ output: likely });
  }

  refresh() {
    if (this.view === "table") this.table.draw();
    else if (this.zoom || this.x.startsWith("local") || this.y.startsWith("local")) this.map.draw();
    else this.map.drawTop();
    this.drawPanel();
  }

  async ask(query, profiles) {
    try {
      const { fits, training } = await this.host.ask([query], profiles);
      this.learn(training);
      this.problem.textContent = "";
      return fits[0];
    } catch (error) {
      this.problem.textContent = `No answer: ${error.message}. Is the program that opened this page still running?`;
      return null;
    }
  }

  // A new fit where a feature is moved to; of several moves that wait, only the last one counts.
  async move(j, value) {
    this.query[j] = value;
    this.moved = true;
    if (this.waiting) {
      this.again = true;
      return;
    }
    this.waiting = true;
    do {
      this.again = false;
      const ticket = this.asked;
      const answer = await this.ask([...this.query], false);
      if (answer && ticket === this.asked) {
        this.fit = answer;
        this.refresh();
      }
    } while (this.again);
    this.waiting = false;
  }

  // In a file: one feature at a time.
  moveAlone(j, value) {
    this.query = [...this.original.query];
    this.query[j] = value;
    this.moved = value !== this.original.query[j];
    this.replacePanel("whatif", whatIfPanel(this));
  }

  moveBack() {
    Object.assign(this, { fit: this.original, query: [...this.original.query], moved: false });
    this.asked += 1;
    document.activeElement?.blur();
    this.refresh();
  }

  // Name of the class that the chosen row most probably has.
  likelyClass() {
    return this.scene.outputs[largest(this.fit.outputs.map(({ value }) => value))];
  }

  whatIfValue() {
    if (this.live || !this.moved) return this.fit.outputs[this.output].value;
    const { profiles, query } = this.original;
    const k = profiles.features.findIndex((j) => this.query[j] !== query[j]);
    const place = profiles.places[k].indexOf(this.query[profiles.features[k]]);
    return profiles.values[this.output][k][place];
  }

  axis(key) {
    if (key.startsWith("local")) {
      const direction = this.original?.outputs[this.output].directions[Number(key.slice(5))];
      return direction ? { weights: direction, origin: this.original.query } : null;
    }
    return this.scene.axes[Number(key)] ?? null;
  }

  // Coordinate of features on an axis; of a moved row's prediction, that of the fit.
  coordinate(key, row) {
    if (key === "value") return row === this.fit?.query ? this.fit.outputs[this.output].value : NaN;
    if (key === "label") return NaN;
    const axis = this.axis(key);
    if (!axis) return NaN;
    let sum = 0;
    for (let j = 0; j < row.length; j += 1) if (axis.weights[j] !== 0) sum += axis.weights[j] * (row[j] - axis.origin[j]);
    return sum;
  }

  coordinates(key) {
    const name = key === "value" || key === "label" ? `${key}${this.output}` : key;
    if (!this.cache.has(name)) {
      const { rows, values, labels } = this.scene;
      const of = { value: (_, i) => values[i][this.output], label: (_, i) => labels[i][this.output] ?? NaN }[key];
      this.cache.set(name, rows.map(of ?? ((row) => this.coordinate(key, row))));
    }
    return this.cache.get(name);
  }

  colorValues() {
    const { values, labels } = this.scene;
    if (this.colorsClasses()) return (this.color === "label" ? labels : values).map(largest);
    return values.map((value, i) => {
      const label = labels ? labels[i][this.output] : null;
      if (this.color === "value") return value[this.output];
      if (label === null) return null;
      return this.color === "label" ? label : label - value[this.output];
    });
  }

  colorExtent() {
    if (this.colorsClasses()) return [0, Math.max(this.scene.outputs.length - 1, 1)];
    return extent(this.colorValues().filter((value) => value !== null));
  }

  colors() {
    const found = this.colorValues();
    const [low, high] = this.colorExtent();
    return found.map((value) => (value === null ? null : (value - low) / (high - low)));
  }

  // Covariance of the neighborhood in the two axes of the map: xx, xy, yy.
  covariance() {
    const one = this.fit.outputs[this.output];
    const triangle = this.step === null || !one.steps[this.step] ? one.covariance : one.steps[this.step].covariance;
    const place = (key) => (key.startsWith("local") ? this.scene.axes.length + Number(key.slice(5)) : Number(key));
    const [i, j] = [place(this.x), place(this.y)];
    if (!Number.isInteger(i) || !Number.isInteger(j)) return null;
    const at = (a, b) => triangle[a >= b ? (a * (a + 1)) / 2 + b : (b * (b + 1)) / 2 + a];
    return [at(i, i), at(i, j), at(j, j)];
  }

  neighborRows() {
    const { index, weight } = this.fit.outputs[this.output].neighbors;
    return index.map((number, k) => ({ index: number, weight: weight[k], ...this.training.get(number) }));
  }

  // Of a neighbor: the number that its color stands for.
  colorOf(label) {
    return this.colorsClasses() ? largest(label) : label[this.output];
  }
}

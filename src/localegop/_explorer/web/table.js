// Rows as a table, one page at a time; a click or Enter chooses a row, a heading sorts.

import { element } from "./elements.js";
import { format } from "./numbers.js";
import { largest } from "./classes.js";

const PAGE = 20;
const MOST_COLUMNS = 30; // features shown; the page would be slow with hundreds

export class RowTable {
  constructor(app) {
    this.app = app;
    this.page = 0;
    this.order = null;
    this.sorted = null;
    this.node = element("div", { class: "table" });
  }

  columns() {
    const { scene, output } = this.app;
    const found = [
      { name: "row", kind: "row", of: (i) => scene.numbers[i] },
      ...(scene.classes ? this.classColumns() : []),
      { name: this.app.predicted(), kind: "prediction", of: (i) => scene.values[i][output] },
    ];
    if (scene.labels && !scene.classes) found.push({ name: scene.outputs[output], kind: "label", of: (i) => scene.labels[i][output] });
    scene.features.slice(0, MOST_COLUMNS).forEach((name, j) => found.push({ name, of: (i) => scene.rows[i][j] }));
    found.push({ name: "beyond the data", kind: "status", of: (i) => (scene.beyond[i] ? 1 : 0), text: (i) => (scene.beyond[i] ? "yes" : "") });
    return found;
  }

  // Classes sort in their order; rows whose class is not known come first.
  classColumns() {
    const { scene } = this.app;
    const column = (name, kind, shares) => ({
      name,
      kind,
      of: (i) => largest(shares[i]) ?? -1,
      text: (i) => scene.outputs[largest(shares[i])] ?? "unknown",
    });
    const likely = column("most probable class", "likely", scene.values);
    return scene.labels ? [likely, column(scene.target, "label", scene.labels)] : [likely];
  }

  // By its place: a feature may be called "prediction" too.
  place(column) {
    return `${column.kind ?? "feature"} ${column.name}`;
  }

  sort(column) {
    const rows = [...this.app.scene.rows.keys()];
    const down = this.sorted?.column === this.place(column) && !this.sorted.down;
    this.sorted = { column: this.place(column), down };
    rows.sort((a, b) => (column.of(a) - column.of(b)) * (down ? -1 : 1));
    this.order = rows;
    this.page = 0;
    this.draw();
  }

  show(row) {
    const place = (this.order ?? [...this.app.scene.rows.keys()]).indexOf(row);
    if (place >= 0) this.page = Math.floor(place / PAGE);
  }

  draw() {
    const { app } = this;
    const count = app.scene.rows.length;
    const columns = this.columns();
    const head = element("tr", {}, ...columns.map((column) => this.heading(column)));
    const body = element("tbody");
    for (let k = this.page * PAGE; k < Math.min(count, (this.page + 1) * PAGE); k += 1) {
      body.append(this.line(this.order ? this.order[k] : k, columns));
    }
    const table = element("table", {}, element("thead", {}, head), body);
    this.node.replaceChildren(element("div", { class: "scroll", tabindex: "0" }, table), this.pages(count));
  }

  heading(column) {
    const mark = this.sorted?.column === this.place(column) ? (this.sorted.down ? " ▼" : " ▲") : "";
    const sort = mark ? (this.sorted.down ? "descending" : "ascending") : null;
    const button = element("button", { type: "button", click: () => this.sort(column) }, column.name + mark);
    return element("th", { scope: "col", "aria-sort": sort }, button);
  }

  line(i, columns) {
    const { app } = this;
    const cells = columns.map((column) => {
      const text = column.text ? column.text(i) : format(column.of(i));
      if (column !== columns[0]) return element("td", {}, text);
      return element("th", { scope: "row" }, element("button", { type: "button", click: () => app.select(i) }, text));
    });
    const chosen = app.row === i;
    const pick = (event) => {
      if (event.target.tagName !== "BUTTON") app.select(i);
    };
    return element("tr", { "data-row": i, class: chosen ? "chosen" : null, "aria-selected": String(chosen), click: pick }, ...cells);
  }

  pages(count) {
    const last = Math.max(0, Math.ceil(count / PAGE) - 1);
    const go = (to) => () => {
      this.page = Math.min(Math.max(to, 0), last);
      this.draw();
    };
    return element(
      "div",
      { class: "pages" },
      element("button", { type: "button", disabled: this.page === 0, click: go(this.page - 1) }, "Previous"),
      element("span", {}, `page ${this.page + 1} of ${last + 1}`),
      element("button", { type: "button", disabled: this.page === last, click: go(this.page + 1) }, "Next"),
    );
  }
}

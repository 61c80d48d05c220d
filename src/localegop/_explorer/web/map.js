// Rows as points, or as pixels where they lie on a grid; the neighborhood of the chosen one on top of them.

import { COLORS, extent, format, ticks, viridis } from "./numbers.js";
import { element } from "./elements.js";

const LEFT = 56;
const BOTTOM = 36;
const TOP = 10;
const RIGHT = 12;
const NEAR = 24; // pixels within which a click finds a point
const SHADES = 96; // colors that are told apart
const SIDES = 96; // of the polygons that ellipses are drawn as

export class PointMap {
  constructor(app) {
    this.app = app;
    this.base = element("canvas", { "aria-hidden": "true" });
    this.top = element("canvas", {
      tabindex: "0",
      role: "application",
      "aria-label": "Map of rows. Arrow keys move to the next row in that direction, Home and End to the first and last.",
      click: (event) => this.click(event),
      keydown: (event) => this.press(event),
    });
    this.node = element("div", { class: "map" }, this.base, this.top);
    new ResizeObserver(() => this.draw()).observe(this.node);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  draw() {
    const width = this.node.clientWidth;
    const height = this.node.clientHeight;
    if (!width || !height) return;
    this.place(width, height);
    this.drawBase(this.context(this.base, width, height));
    this.drawTop();
  }

  drawTop() {
    const { clientWidth: width, clientHeight: height } = this.node;
    if (!this.toX || !width) return;
    const context = this.context(this.top, width, height);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
    context.clip();
    this.drawNeighborhood(context);
    context.restore();
  }

  context(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    return context;
  }

  // Where all rows are on the screen.
  place(width, height) {
    const { app } = this;
    this.xs = app.coordinates(app.x);
    this.ys = app.coordinates(app.y);
    this.grid = app.view === "image" ? findGrid(this.xs, this.ys) : null;
    let [x0, x1] = this.span(this.xs, app.x, this.grid?.dx);
    let [y0, y1] = this.span(this.ys, app.y, this.grid?.dy);
    const across = width - LEFT - RIGHT;
    const down = height - TOP - BOTTOM;
    if (this.grid) {
      // Square pixels.
      const unit = Math.max((x1 - x0) / this.grid.dx / across, (y1 - y0) / this.grid.dy / down);
      [x0, x1] = widened(x0, x1, unit * this.grid.dx * across);
      [y0, y1] = widened(y0, y1, unit * this.grid.dy * down);
    }
    this.toX = (x) => LEFT + ((x - x0) / (x1 - x0)) * across;
    this.toY = app.flip
      ? (y) => TOP + ((y - y0) / (y1 - y0)) * down
      : (y) => TOP + ((y1 - y) / (y1 - y0)) * down;
    this.domain = [x0, x1, y0, y1];
    this.size = [width, height];
  }

  span(values, axis, step) {
    const { app } = this;
    let seen = values;
    if (app.zoom && app.fit) {
      const near = app.neighborRows().map(({ row }) => app.coordinate(axis, row));
      seen = [...near, app.coordinate(axis, app.fit.query)].filter(Number.isFinite);
    }
    const [low, high] = extent(seen);
    const margin = step ? step / 2 : 0.05 * (high - low);
    return [low - margin, high + margin];
  }

  drawBase(context) {
    const style = getComputedStyle(this.node);
    const [width, height] = this.size;
    const [x0, x1, y0, y1] = this.domain;
    context.strokeStyle = style.borderTopColor;
    context.fillStyle = style.color;
    context.strokeRect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
    context.textAlign = "center";
    for (const tick of ticks(x0, x1, Math.max(2, width / 110))) {
      context.fillText(format(tick), this.toX(tick), height - BOTTOM + 15);
    }
    context.textAlign = "right";
    for (const tick of ticks(y0, y1, Math.max(2, height / 70))) {
      context.fillText(format(tick), LEFT - 6, this.toY(tick) + 4);
    }
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
    context.clip();
    this.drawRows(context);
    context.restore();
  }

  // Rows of one color at a time: thousands of single drawings would take too long.
  drawRows(context) {
    const { app, xs, ys, grid } = this;
    const size = xs.length > 2000 ? 2.2 : xs.length > 400 ? 3 : 4;
    const half = grid ? [Math.abs(this.toX(grid.dx) - this.toX(0)) / 2 + 0.3, Math.abs(this.toY(grid.dy) - this.toY(0)) / 2 + 0.3] : null;
    for (const [color, rows] of byColor(app.colors())) {
      context.fillStyle = color;
      context.beginPath();
      for (const i of rows) {
        const x = this.toX(xs[i]);
        const y = this.toY(ys[i]);
        if (half) {
          context.rect(x - half[0], y - half[1], 2 * half[0], 2 * half[1]);
        } else if (app.scene.beyond[i]) {
          context.rect(x - 1.3 * size, y - 1.3 * size, 2.6 * size, 2.6 * size); // squares lie beyond the data
        } else {
          context.moveTo(x + size, y);
          context.arc(x, y, size, 0, 2 * Math.PI);
        }
      }
      context.fill();
    }
  }

  drawNeighborhood(context) {
    const { app } = this;
    if (!app.fit) return;
    const near = app.neighborRows();
    const heaviest = Math.max(...near.map(({ weight }) => weight));
    const [low, high] = app.color === "error" ? [NaN, NaN] : app.colorExtent();
    for (const { row, weight, label } of near) {
      const x = this.toX(app.coordinate(app.x, row));
      const y = this.toY(app.coordinate(app.y, row));
      const radius = this.grid ? Math.sqrt(weight / heaviest) * this.pixel() : 3 + 5 * Math.sqrt(weight / heaviest);
      context.beginPath();
      context.arc(x, y, radius, 0, 2 * Math.PI);
      const share = (app.colorOf(label) - low) / (high - low);
      context.fillStyle = Number.isNaN(share) || this.grid ? "transparent" : viridis(share);
      context.fill();
      context.lineWidth = 3.5;
      for (const color of ["#FFFFFF", COLORS.neighbor]) {
        context.strokeStyle = color;
        context.beginPath();
        context.arc(x, y, radius, 0, 2 * Math.PI);
        context.stroke();
        context.lineWidth = 1.5;
      }
    }
    const center = [app.coordinate(app.x, app.fit.query), app.coordinate(app.y, app.fit.query)];
    const block = app.covariance();
    if (block) {
      this.drawEllipse(context, center, block, 1, []);
      this.drawEllipse(context, center, block, 2, [6, 5]);
    }
    this.drawCross(context, this.toX(center[0]), this.toY(center[1]));
  }

  // Radius of the largest ring within a pixel.
  pixel() {
    return Math.max(1.5, Math.min(8, 0.42 * Math.abs(this.toX(this.grid.dx) - this.toX(0))));
  }

  drawEllipse(context, [cx, cy], [xx, xy, yy], deviations, dashes) {
    // Cholesky factor of the covariance takes a circle to the ellipse.
    const a = Math.sqrt(Math.max(xx, 0));
    const b = a > 0 ? xy / a : 0;
    const c = Math.sqrt(Math.max(yy - b * b, 0));
    for (const [color, width] of [["#FFFFFF", 5], [COLORS.query, 2.5]]) {
      context.beginPath();
      for (let k = 0; k <= SIDES; k += 1) {
        const angle = (2 * Math.PI * k) / SIDES;
        const u = deviations * Math.cos(angle);
        const v = deviations * Math.sin(angle);
        context.lineTo(this.toX(cx + a * u), this.toY(cy + b * u + c * v));
      }
      context.setLineDash(dashes);
      context.strokeStyle = color;
      context.lineWidth = width;
      context.stroke();
    }
    context.setLineDash([]);
  }

  drawCross(context, x, y) {
    for (const [color, width, arm] of [["#FFFFFF", 7, 11], [COLORS.query, 4, 9]]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x - arm, y);
      context.lineTo(x + arm, y);
      context.moveTo(x, y - arm);
      context.lineTo(x, y + arm);
      context.stroke();
    }
  }

  click(event) {
    const box = this.top.getBoundingClientRect();
    const found = this.nearest(event.clientX - box.left, event.clientY - box.top);
    if (found !== null) this.app.select(found);
  }

  nearest(x, y) {
    let best = this.grid ? Infinity : NEAR ** 2;
    let found = null;
    for (let i = 0; i < this.xs.length; i += 1) {
      const distance = (this.toX(this.xs[i]) - x) ** 2 + (this.toY(this.ys[i]) - y) ** 2;
      if (distance < best) [best, found] = [distance, i];
    }
    return found;
  }

  press(event) {
    const towards = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key];
    const last = this.xs.length - 1;
    let found = null;
    if (towards) found = this.next(this.app.row ?? 0, towards);
    else if (event.key === "Home" || event.key === "End") found = event.key === "Home" ? 0 : last;
    else return;
    event.preventDefault();
    if (found !== null) this.app.select(found);
  }

  // The row that is nearest in a direction; what lies aside counts as farther.
  next(from, [across, down]) {
    const x = this.toX(this.xs[from]);
    const y = this.toY(this.ys[from]);
    let best = Infinity;
    let found = null;
    for (let i = 0; i < this.xs.length; i += 1) {
      const dx = this.toX(this.xs[i]) - x;
      const dy = this.toY(this.ys[i]) - y;
      const along = dx * across + dy * down;
      const aside = Math.abs(dx * down) + Math.abs(dy * across);
      if (along > 0.5 && along + 3 * aside < best) [best, found] = [along + 3 * aside, i];
    }
    return found;
  }
}

function byColor(shares) {
  const found = new Map();
  shares.forEach((share, i) => {
    const shade = share === null ? null : Math.round(share * SHADES) / SHADES;
    if (!found.has(shade)) found.set(shade, []);
    found.get(shade).push(i);
  });
  return [...found].map(([shade, rows]) => [shade === null ? "#888888" : viridis(shade), rows]);
}

function widened(low, high, length) {
  const middle = (low + high) / 2;
  return [middle - length / 2, middle + length / 2];
}

// Steps of a grid that the points fill for the most part; null if there is none.
export function findGrid(xs, ys) {
  const dx = evenStep(xs);
  const dy = evenStep(ys);
  if (!dx || !dy || xs.length < 9) return null;
  const [x0, x1] = extent(xs);
  const [y0, y1] = extent(ys);
  const cells = (Math.round((x1 - x0) / dx) + 1) * (Math.round((y1 - y0) / dy) + 1);
  return xs.length >= 0.3 * cells ? { dx, dy } : null;
}

function evenStep(values) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  if (sorted.length < 2) return 0;
  let step = Infinity;
  for (let i = 1; i < sorted.length; i += 1) step = Math.min(step, sorted[i] - sorted[i - 1]);
  return (sorted[sorted.length - 1] - sorted[0]) / step < 5000 ? step : 0;
}

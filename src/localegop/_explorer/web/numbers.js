// Numbers as text, ticks of axes, and colors of numbers.

export const COLORS = { query: "#D55E00", neighbor: "#000000", positive: "#0072B2", negative: "#E69F00" };

// Viridis at nine places: even steps of lightness, the same to people without color vision.
const VIRIDIS = [
  [68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141],
  [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37],
];

export function format(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "unknown";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value).replace("-", "−");
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? value.toExponential(digits - 1) : trim(value.toPrecision(digits));
  return text.replace("-", "−").replace("e-", "e−").replace("e+", "e");
}

function trim(text) {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

export function percent(share) {
  if (share > 0 && share < 0.01) return "under 1 %";
  return share > 0.99 && share < 1 ? "over 99 %" : `${Math.round(100 * share)} %`;
}

export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

export function ticks(low, high, count = 5) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((width) => width >= raw) ?? raw;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k += 1) found.push(k * step);
  return found.map((value) => Number(value.toPrecision(12)));
}

export function viridis(share) {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const k = Math.min(Math.floor(place), VIRIDIS.length - 2);
  const mix = VIRIDIS[k].map((from, j) => Math.round(from + (VIRIDIS[k + 1][j] - from) * (place - k)));
  return `rgb(${mix.join(",")})`;
}

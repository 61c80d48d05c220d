// Elements of the page. Text is always set as text, never as markup, whatever columns are called.

import { format } from "./numbers.js";

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// A number for people, with all of its digits for programs.
export function datum(value, name, digits = 4) {
  return element("data", { value: value ?? "", "data-name": name }, format(value, digits));
}

export function choice(label, options, selected, change) {
  const select = element("select", { change: () => change(select.value) });
  for (const [value, text] of options) {
    select.append(element("option", { value, selected: String(value) === String(selected) }, text));
  }
  return element("label", { class: "choice" }, element("span", {}, label), select);
}

export function section(title, note, ...children) {
  const heading = element("h2", {}, title);
  return element("section", {}, heading, note ? element("p", { class: "note" }, note) : null, ...children);
}

// Files to take along: a drawing with its names, scores and scale, and tables of hits. Styles are written into the elements, so
// that a file needs no style sheet.

import { el } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "stroke-dasharray", "font-family",
               "font-size", "font-weight", "visibility"];
const MARGIN = 16;
const INK = "#1d2125";
const SOFT = "#5d6570";

// A copy of a drawing that looks the same without the page. soft: the colour of its words on white paper.
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  originals.forEach((original, k) => {
    const looks = getComputedStyle(original);
    for (const name of LOOKS) copies[k].setAttribute(name, looks.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "role", "aria-label"]) copies[k].removeAttribute(name);
  });
  return copy;
}

function put(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// As much of a name as fits, by the width of a typical letter.
const fitted = (name, width, size) => {
  const most = Math.floor(width / (0.56 * size));
  return name.length <= most ? name : `…${name.slice(1 - most)}`;
};

// The drawing of a view (match_view.js) between its words, as the text of an SVG file.
export function figure(view) {
  const { width, height } = view.drawing.viewBox.baseVal;
  const { explanation, options, evidence, tall } = view;
  const root = document.createElementNS(SVG, "svg");
  const words = (x, y, text, more = {}) =>
    put(root, "text", { x, y, "font-family": "system-ui, sans-serif", "font-size": 12, fill: INK, ...more }, text);
  const middle = { "text-anchor": "middle", fill: SOFT };
  const full = width + 2 * MARGIN;
  const scores = [`cosine similarity ${explanation.cosine.toFixed(4)} (whole picture)`,
                  `structural similarity ${explanation.score.toFixed(4)} (part by part; even flow ${evidence.even.toFixed(4)})`,
                  `evidence: ${evidence.kind}, ${(100 * evidence.gain).toFixed(0)} % of a perfect match's gain; ` +
                  `lambda ${Number(explanation.params?.lambda?.toPrecision(3))}, ${explanation.params?.marginals}` +
                  (explanation.params?.mass < 1 ? `, ${Math.round(100 * explanation.params.mass)} % of the mass` : "")];
  let y = MARGIN;
  put(root, "rect", { width: "100%", height: "100%", fill: "#fff" });
  for (const line of scores) words(MARGIN, y += 16, fitted(line, width, 11.5), line === scores[1] ? { "font-weight": 600 } : {});
  y += 14;
  const nameSize = tall ? width : width * 0.385;
  if (tall) words(full / 2, y += 12, fitted(options.sourceName, nameSize, 12), middle);
  const drawing = standalone(view.drawing);
  for (const [name, value] of Object.entries({ x: MARGIN, y: y += tall ? 8 : 0, width, height })) drawing.setAttribute(name, value);
  root.append(drawing);
  y += height + 18;
  if (!tall) words(MARGIN + nameSize / 2, y, fitted(options.sourceName, nameSize, 12), middle);
  words(tall ? full / 2 : full - MARGIN - nameSize / 2, y, fitted(options.targetName, nameSize, 12), middle);
  const scale = standalone(view.scale);
  for (const [name, value] of Object.entries({ x: full / 2 - 170, y: y + 12, width: 340, height: 42 })) scale.setAttribute(name, value);
  for (const text of scale.querySelectorAll("text")) text.setAttribute("fill", SOFT);
  root.append(scale);
  y += 12 + 42 + MARGIN;
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${full} ${y}`, width: full, height: y })) root.setAttribute(name, value);
  return new XMLSerializer().serializeToString(root);
}

export async function png(svg, scale = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: scale * image.width, height: scale * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// Letters, digits and a few signs: a name that every system takes.
export const fileName = (names, ending) => {
  const plain = names.map((name) => name.replace(/\.[a-z]+$/i, "").replace(/[^\p{L}\p{N}._-]+/gu, "-").slice(-60));
  return `${plain.join("_to_").replace(/^hits_to_/, "hits_")}.${ending}`;
};

const quoted = (value) => {
  const text = String(value ?? "");
  // A table program takes a word that begins with one of these for a formula.
  const safe = /^[=+@\t]|^-(?!\d)/.test(text) ? `'${text}` : text;
  return /[",\n']/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export function hitsTable(query, hits) {
  const columns = ["rank", "first_rank", "id", "path", "label", "global", "structural", "total"];
  const rows = hits.map((hit) => [query.name, ...columns.map((name) => hit[name])]);
  return [["query", ...columns], ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

export function save(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

// Two images and the mass that flows between their parts. Has no dependencies; match_view.css has the styles.
//
//   drawMatch(container, explanation, {sourceImage, targetImage, sourceName, targetName, ...state, changed})
//
// explanation: the object of docs/explain.md; only the shapes, marginals, similarity, plan, regions, score and cosine are
// read. state: what the reader chose, {arrows, regions, weight, frames, pinned: {side, cell}}; changed() gets it when that
// changes. Without it, regions are shown first, where there are any; pairs of cells when the slider is moved or a part is
// pointed at.
// Images are addresses (data: or other) of the crops that the network saw. Text is inserted as text, never as markup.
// Wide containers have the images side by side, narrow ones one above the other.

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 340;
const GAP = { wide: 180, tall: 96 };
const NARROW = 560; // pixels of the container
const FEW = 6; // arrows of the first view, which also have a colour of their own
const LABELS = 10; // more labels would hide the arrows
const VEIL = 0.66; // opacity over a part without weight

const watched = new WeakMap(); // the observer of each container's width

function svg(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  parent.append(element);
  return element;
}

function html(parent, name, className, text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.textContent = text;
  parent.append(element);
  return element;
}

const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const short = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
const formula = (pair) => `[${short(pair.amplified)}] × [${pair.similarity.toFixed(2)}]`;

// All pairs of cells, strongest first: computed from the matrices, because a file may list only some of them.
function allPairs(explanation) {
  const { plan, similarity, score } = explanation;
  const count = plan.length * plan[0].length;
  const pairs = plan.flatMap((row, source) => row.map((mass, target) => {
    const contribution = mass * similarity[source][target];
    return { source, target, mass, amplified: mass * count, similarity: similarity[source][target], contribution,
             share: score === 0 ? 0 : contribution / score };
  }));
  return pairs.sort((x, y) => y.contribution - x.contribution || x.source - y.source || x.target - y.target);
}

// How far the match rises from an even flow, where every part goes to every part (0), to a perfect one (1). docs/explain.md
// has the measurements behind the two limits.
export const WEAK = 0.08;
export const CLEAR = 0.16;
export function evidenceOf({ similarity, score, params }) {
  const all = similarity.flat();
  const most = params?.mass ?? 1;  // of a perfect match of this share of the mass
  const even = most * all.reduce((sum, value) => sum + value, 0) / all.length;
  const gain = even < most ? (score - even) / (most - even) : 0;
  return { even, gain, kind: gain < WEAK ? "weak" : gain < CLEAR ? "some" : "clear" };
}

// Labels in a line, each as near to its wanted position as its neighbours allow.
export function labelPlaces(wanted, pitch, low, high) {
  const step = wanted.length > 1 ? Math.min(pitch, (high - low) / (wanted.length - 1)) : pitch;
  const within = (run) => ({ ...run, begin: Math.max(low, Math.min(run.begin, high - step * (run.count - 1))) });
  const order = wanted.map((_, k) => k).sort((x, y) => wanted[x] - wanted[y] || x - y);
  const runs = [];
  for (const k of order) {
    let run = within({ begin: wanted[k], count: 1 });
    while (runs.length > 0 && runs.at(-1).begin + step * runs.at(-1).count > run.begin) {
      const before = runs.pop();
      const count = before.count + run.count;
      run = within({ count, begin: (before.begin * before.count + (run.begin - step * before.count) * run.count) / count });
    }
    runs.push(run);
  }
  const places = [];
  let next = 0;
  for (const run of runs) for (let k = 0; k < run.count; ++k) places[order[next++]] = run.begin + step * k;
  return places;
}

class Grid {
  constructor(parent, view, { left, top, rows, cols, image, name, weights, side }) {
    Object.assign(this, { left, top, rows, cols, weights, side });
    this.group = svg(parent, "g", { class: "match-grid", tabindex: 0, role: "application",
                                    "aria-label": `${name}: parts, select with the arrow keys` });
    svg(this.group, "image", { href: image, x: left, y: top, width: SIDE, height: SIDE, preserveAspectRatio: "none" });
    this.veils = weights.map((_, cell) => svg(this.group, "rect", { ...this.place(cell), class: "match-veil" }));
    this.rim = svg(this.group, "path", { class: "match-contour-rim" });
    this.contour = svg(this.group, "path", { class: "match-contour" });
    this.covers = weights.map((_, cell) => {
      const cover = svg(this.group, "rect", { ...this.place(cell), class: "match-cell" });
      cover.addEventListener("pointerenter", (event) => { if (event.pointerType !== "touch") view.look(side, cell); });
      cover.addEventListener("click", () => view.pin(side, cell));
      return cover;
    });
    svg(this.group, "rect", { x: left, y: top, width: SIDE, height: SIDE, class: "match-edge", "pointer-events": "none" });
    this.group.addEventListener("pointerleave", () => view.look(null));
    this.group.addEventListener("keydown", (event) => this.move(event, view));
  }

  place(cell) {
    const width = SIDE / this.cols;
    const height = SIDE / this.rows;
    return { x: this.left + (cell % this.cols) * width, y: this.top + Math.floor(cell / this.cols) * height, width, height };
  }

  middle(cell) {
    const { x, y, width, height } = this.place(cell);
    return { x: x + width / 2, y: y + height / 2 };
  }

  name(cell) {
    return `(${Math.floor(cell / this.cols)},${cell % this.cols})`;
  }

  // The middle of a group of cells.
  centre(cells) {
    const middles = cells.map((cell) => this.middle(cell));
    const mean = (axis) => middles.reduce((sum, at) => sum + at[axis], 0) / middles.length;
    return { x: mean("x"), y: mean("y") };
  }

  // The line around the cells that are inside, so far within them.
  outline(inside, inset = 0) {
    let path = "";
    for (let cell = 0; cell < this.rows * this.cols; ++cell) {
      const row = Math.floor(cell / this.cols);
      const col = cell % this.cols;
      if (!inside(row, col)) continue;
      const { x, y, width, height } = this.place(cell);
      // How much later an edge begins: the line turns inwards, goes straight on, or turns outwards.
      const later = (beside, corner) => inset * (!inside(...beside) ? 1 : inside(...corner) ? -1 : 0);
      for (const away of [-1, 1]) {
        if (!inside(row + away, col)) {
          const at = away < 0 ? y + inset : y + height - inset;
          path += `M${x + later([row, col - 1], [row + away, col - 1])} ${at}` +
                  `H${x + width - later([row, col + 1], [row + away, col + 1])}`;
        }
        if (!inside(row, col + away)) {
          const at = away < 0 ? x + inset : x + width - inset;
          path += `M${at} ${y + later([row - 1, col], [row - 1, col + away])}` +
                  `V${y + height - later([row + 1, col], [row + 1, col + away])}`;
        }
      }
    }
    return path;
  }

  around(cells, inset) {
    const chosen = new Set(cells);
    return this.outline((row, col) => row >= 0 && col >= 0 && row < this.rows && col < this.cols &&
                                      chosen.has(row * this.cols + col), inset);
  }

  // Clear where the value is `most`, veiled where it is 0; an outline around the parts above `line`. null: nothing.
  mask(values, most, line) {
    this.veils.forEach((veil, cell) => {
      const clear = values ? Math.max(0, Math.min(1, values[cell] / most)) : 1;
      veil.setAttribute("fill-opacity", (VEIL * (1 - clear)).toFixed(4));
    });
    const inside = (row, col) => row >= 0 && col >= 0 && row < this.rows && col < this.cols &&
                                 values[row * this.cols + col] > line;
    const path = values && line !== null ? this.outline(inside) : "";
    this.rim.setAttribute("d", path);
    this.contour.setAttribute("d", path);
  }

  move(event, view) {
    if (event.key === "Escape" && view.pinned) view.pin(view.pinned.side, view.pinned.cell);
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const [down, right] = steps[event.key];
    const now = view.pinned?.side === this.side ? view.pinned.cell : 0;
    const row = Math.max(0, Math.min(this.rows - 1, Math.floor(now / this.cols) + down));
    const col = Math.max(0, Math.min(this.cols - 1, (now % this.cols) + right));
    view.pinned = null;
    view.pin(this.side, row * this.cols + col);
  }
}

class MatchView {
  constructor(container, explanation, options) {
    const cells = options.pinned ? explanation.marginals[options.pinned.side]?.length ?? 0 : 0;
    Object.assign(this, { explanation, options, pinned: options.pinned?.cell < cells ? options.pinned : null });
    this.pairs = allPairs(explanation);
    this.regions = (explanation.regions ?? []).map((region) => ({ ...region, region }));
    this.evidence = evidenceOf(explanation);
    container.replaceChildren();
    this.root = html(container, "div", "match-view");
    this.verdict = html(this.root, "p", "match-verdict");
    this.verdict.dataset.evidence = this.evidence.kind;
    this.measures();
    this.nameAbove = html(this.root, "p", "match-name", options.sourceName ?? "source");
    this.drawing = svg(this.root, "svg", { class: "match-drawing" });
    const names = html(this.root, "div", "match-names");
    html(names, "span", "", options.sourceName ?? "source");
    html(names, "span", "", options.targetName ?? "target");
    html(this.root, "p", "match-name", options.targetName ?? "target");
    this.scale = svg(html(this.root, "div", "match-scale-box"), "svg", { class: "match-scale", viewBox: "0 0 340 42", role: "img" });
    this.controls();
    this.words = html(this.root, "div", "match-words");
    this.lay(container.clientWidth || innerWidth);
    watched.get(container)?.disconnect();
    watched.set(container, new ResizeObserver(([{ contentRect }]) => this.lay(contentRect.width)));
    watched.get(container).observe(container);
  }

  // Two measures of one pair, each with a bar of its own: neither comes before the other.
  measures() {
    const { cosine, score } = this.explanation;
    const list = html(this.root, "dl", "match-measures");
    const along = (value) => `${100 * Math.max(0, Math.min(1, value))}%`;
    const measure = (key, name, value, note, even) => {
      const box = html(list, "div", "match-measure");
      box.dataset.measure = key;
      html(box, "dt", "", name);
      html(box, "dd", "", value.toFixed(4));
      const meter = html(box, "dd", "match-meter");
      html(meter, "span", "match-meter-fill").style.width = along(value);
      if (even !== undefined) html(meter, "span", "match-meter-even").style.left = along(even);
      html(box, "dd", "match-measure-note", note);
    };
    measure("cosine", "Whole picture: cosine similarity", cosine, "of one vector for each picture");
    measure("structural", "Part by part: structural similarity", score,
            `an even flow, every part to every part, gives ${this.evidence.even.toFixed(4)} (the mark)`, this.evidence.even);
  }

  controls() {
    const row = html(this.root, "p", "match-controls");
    const label = html(row, "label", "", "arrows ");
    this.slider = html(label, "input");
    Object.assign(this.slider, { type: "range", min: 0, max: Math.min(60, this.pairs.length),
                                 value: this.options.arrows ?? FEW });
    this.count = html(label, "output");
    this.slider.addEventListener("input", () => { this.whole.checked = false; this.turn(); });
    const box = (text, checked) => {
      const around = html(row, "label");
      const input = html(around, "input");
      Object.assign(input, { type: "checkbox", checked });
      around.append(text);
      input.addEventListener("change", () => this.turn());
      return input;
    };
    const { regions = true, weight = true, frames = true } = this.options;
    this.whole = box("regions", this.regions.length > 0 && regions);
    this.whole.disabled = this.regions.length === 0;
    this.heat = box("weight of each part", weight);
    this.frames = box("cell frames", frames);
  }

  // A match without regions keeps the wish for them.
  state() {
    return { arrows: Number(this.slider.value), regions: this.whole.disabled ? this.options.regions ?? true : this.whole.checked,
             weight: this.heat.checked, frames: this.frames.checked, pinned: this.pinned };
  }

  // After a choice of the reader.
  turn() {
    this.show();
    this.options.changed?.(this.state());
  }

  // The drawing for a container of this width; the same layout is not drawn twice.
  lay(width) {
    const tall = width < NARROW;
    if (tall === this.tall) return;
    this.tall = tall;
    this.root.classList.toggle("match-tall", tall);
    const far = SIDE + GAP[tall ? "tall" : "wide"];
    this.drawing.replaceChildren();
    this.drawing.setAttribute("viewBox", tall ? `0 0 ${SIDE} ${far + SIDE}` : `0 0 ${far + SIDE} ${SIDE}`);
    const { explanation: why, options } = this;
    this.source = new Grid(this.drawing, this, {
      side: "source", left: 0, top: 0, rows: why.rows_source, cols: why.cols_source, weights: why.marginals.source,
      image: options.sourceImage, name: options.sourceName ?? "source" });
    this.target = new Grid(this.drawing, this, {
      side: "target", left: tall ? 0 : far, top: tall ? far : 0, rows: why.rows_target, cols: why.cols_target,
      weights: why.marginals.target, image: options.targetImage, name: options.targetName ?? "target" });
    this.arrows = svg(this.drawing, "g", { class: "match-arrows" });
    this.show();
  }

  pin(side, cell) {
    const same = this.pinned?.side === side && this.pinned.cell === cell;
    this.pinned = same ? null : { side, cell };
    this.turn();
  }

  look(side, cell) {
    this.show(side === null ? null : { side, cell });
  }

  // Shows the pairs of the chosen cell; without one, those of the pinned cell; without either, the strongest pairs.
  show(chosen = null) {
    const at = chosen ?? this.pinned;
    const regions = !at && this.whole.checked;
    const shown = regions ? this.regions : at ? this.pairs.filter((pair) => pair[at.side] === at.cell && pair.mass > 0)
                     : this.pairs.slice(0, Number(this.slider.value));
    this.count.textContent = this.slider.value;
    this.drawing.classList.toggle("match-without-frames", !this.frames.checked);
    for (const grid of [this.source, this.target]) for (const cover of grid.covers) cover.classList.remove("match-chosen");
    if (at) this.maskOfCell(at, shown);
    else this.maskOfWeights();
    this.drawArrows(at ? shown.slice(0, 3) : shown);
    this.tell(at, shown);
  }

  maskOfWeights() {
    const on = this.heat.checked;
    // In units of the average weight, for both images the same: the scale is one.
    const relative = (grid) => grid.weights.map((weight) => weight * grid.weights.length);
    const [source, target] = [relative(this.source), relative(this.target)];
    const most = Math.max(1.5, ...source, ...target);
    this.source.mask(on ? source : null, most, 1);
    this.target.mask(on ? target : null, most, 1);
    this.drawScale(on ? { most, text: (value) => `${short(value)} ×`, line: 1, title: "weight of a part; outlined: above the average (1 ×)" } : null);
  }

  maskOfCell(at, shown) {
    const own = this[at.side];
    const other = at.side === "source" ? this.target : this.source;
    const mass = other.weights.map(() => 0);
    for (const pair of shown) mass[at.side === "source" ? pair.target : pair.source] = pair.mass;
    const all = Math.max(mass.reduce((sum, value) => sum + value, 0), 1e-12);
    const shares = mass.map((value) => value / all);
    const most = Math.max(...shares, 1e-12);
    other.mask(shares, most, null);
    own.mask(own.weights.map((_, cell) => (cell === at.cell ? 1 : 0.45)), 1, null);
    own.covers[at.cell].classList.add("match-chosen");
    this.drawScale({ most, text: (value) => percent(value), title: `where the mass of ${at.side} ${own.name(at.cell)} goes` });
  }

  drawScale(scale) {
    this.scale.replaceChildren();
    this.scale.style.visibility = scale ? "visible" : "hidden";
    if (!scale) return;
    this.scale.setAttribute("aria-label", `Scale: ${scale.title}, from 0 to ${scale.text(scale.most)}`);
    svg(this.scale, "text", { x: 170, y: 11, "text-anchor": "middle" }, scale.title);
    svg(this.scale, "rect", { x: 20, y: 17, width: 300, height: 10, class: "match-scale-ground" });
    const STEPS = 30;
    for (let k = 0; k < STEPS; ++k) {
      svg(this.scale, "rect", { x: 20 + k * 300 / STEPS, y: 17, width: 300 / STEPS, height: 10, class: "match-veil",
                                "fill-opacity": (VEIL * (1 - k / (STEPS - 1))).toFixed(4) });
    }
    const ticks = [0, ...(scale.line && scale.line < 0.85 * scale.most ? [scale.line] : []), scale.most];
    for (const value of ticks) {
      const x = 20 + 300 * value / scale.most;
      svg(this.scale, "line", { x1: x, x2: x, y1: 15, y2: 30, class: "match-scale-tick" });
      svg(this.scale, "text", { x, y: 40, "text-anchor": "middle" }, value === 0 ? "0" : scale.text(value));
    }
  }

  drawArrows(pairs) {
    this.arrows.replaceChildren();
    const { tall } = this;
    const across = (tall ? SIDE + GAP.tall / 2 : SIDE + GAP.wide / 2);
    const labelled = pairs.slice(0, LABELS);
    // A region or a pair of cells.
    const middle = (pair, side) => pair.region ? this[side].centre(pair[side]) : this[side].middle(pair[side]);
    const along = (pair) => ["source", "target"].reduce((sum, side) => sum + middle(pair, side)[tall ? "x" : "y"] / 2, 0);
    const places = tall ? labelPlaces(labelled.map(along), 54, 27, SIDE - 27) : labelPlaces(labelled.map(along), 28, 14, SIDE - 14);
    const most = Math.max((pairs[0]?.region ? pairs : this.pairs)[0].contribution, 1e-12);
    const badges = new Map();
    // The frame of a region runs within it, and within those of stronger regions that share cells with it: none hides another.
    const insetOf = (region, side, k) => {
      const cells = new Set(region[side]);
      return 2.2 + 3.4 * pairs.slice(0, k).filter((stronger) => stronger[side].some((cell) => cells.has(cell))).length;
    };
    pairs.map((pair, k) => [pair, k]).reverse().forEach(([pair, k]) => {
      const from = middle(pair, "source");
      const to = middle(pair, "target");
      const place = k < LABELS ? places[k] : along(pair);
      const via = tall ? { x: place, y: across } : { x: across, y: place };
      const weak = this.evidence.kind === "weak";
      const kind = pair.contribution < 0 ? "match-against" : weak || k >= FEW ? "match-faint" : `match-arrow-${k}`;
      const group = svg(this.arrows, "g", { class: `match-arrow ${kind}` });
      const bold = !weak && k < FEW;
      if (bold) for (const side of ["source", "target"]) {
        for (const kind of ["match-frame-rim", "match-frame"]) {
          if (pair.region) svg(group, "path", { d: this[side].around(pair[side], insetOf(pair, side, k)), class: kind });
          else svg(group, "rect", { ...this[side].place(pair[side]), class: kind });
        }
      }
      const path = tall
        ? `M${from.x} ${from.y} C${from.x} ${(from.y + via.y) / 2} ${via.x} ${(from.y + via.y) / 2} ${via.x} ${via.y} ` +
          `C${via.x} ${(to.y + via.y) / 2} ${to.x} ${(to.y + via.y) / 2} ${to.x} ${to.y - 6}`
        : `M${from.x} ${from.y} C${(from.x + via.x) / 2} ${from.y} ${(from.x + via.x) / 2} ${via.y} ${via.x} ${via.y} ` +
          `C${(to.x + via.x) / 2} ${via.y} ${(to.x + via.x) / 2} ${to.y} ${to.x - 6} ${to.y}`;
      const width = bold ? 1.2 + 2.6 * Math.sqrt(Math.max(0, pair.contribution) / most) : 1.2;
      svg(group, "path", { d: path, class: "match-rim", "stroke-width": width + 2.4 });
      svg(group, "path", { d: path, "stroke-width": width });
      svg(group, "path", { d: tall ? `M${to.x} ${to.y + 2} l-5.500 -11 h11 z` : `M${to.x + 2} ${to.y} l-11 -5.500 v11 z`, class: "match-head" });
      svg(group, "circle", { cx: from.x, cy: from.y, r: 3.2, class: "match-head" });
      if (k >= LABELS) return;
      svg(group, "rect", { x: via.x - 25, y: via.y - 11, width: 50, height: 22, rx: 11, class: "match-label" });
      svg(group, "text", { x: via.x, y: via.y + 4.2, "text-anchor": "middle" }, percent(pair.share));
      if (!bold || pair.region) return;
      for (const side of ["source", "target"]) {
        const key = `${side}${pair[side]}`;
        const { x, y } = this[side].place(pair[side]);
        const nth = badges.get(key) ?? 0;
        badges.set(key, nth + 1);
        svg(group, "circle", { cx: x + 9 + 16 * nth, cy: y + 9, r: 7.5, class: "match-badge" });
        svg(group, "text", { x: x + 9 + 16 * nth, y: y + 12.8, "text-anchor": "middle", class: "match-badge-text" }, String(k + 1));
      }
    });
  }

  // The first sentence: what the arrows say, and how much to believe.
  judge(shown, share) {
    const { kind, gain } = this.evidence;
    const rest = this.pairs.length - shown.length;
    const regions = shown[0]?.region !== undefined;
    const first = { clear: "Clear evidence. ", some: "Some evidence. ", weak: "Weak evidence. " }[kind];
    const covers = regions
      ? `${shown.length === 1 ? "This region carries" : `These ${shown.length} regions carry`} ${percent(share, 0)} of the ` +
        "structural similarity; the rest is scattered over other pairs of parts."
      : shown.length === 0 ? "No arrow is shown."
      : `${shown.length === 1 ? "This arrow carries" : `These ${shown.length} arrows carry`} ${percent(share, 0)} of the structural ` +
        `similarity; the other ${rest} pairs of parts carry the rest.`;
    const why = kind === "weak"
      ? `Hardly any part has a partner: matching gains ${percent(gain, 0)} of what a perfect match would, as unrelated pictures do. ` +
        "The arrows, drawn faintly, are only the best of little."
      : `Matching gains ${percent(gain, 0)} of what a perfect match would gain over an even flow.`;
    this.verdict.replaceChildren();
    html(this.verdict, "strong", "", first);
    this.verdict.append(`${covers} ${why}`);
  }

  tell(at, shown) {
    this.words.replaceChildren();
    const sum = shown.reduce((total, pair) => total + pair.contribution, 0);
    const share = this.explanation.score === 0 ? 0 : sum / this.explanation.score;
    const count = this.pairs.length;
    if (at) {
      const grid = this[at.side];
      const even = grid.weights[at.cell] * grid.weights.length;
      html(this.words, "p", "", `${at.side} ${grid.name(at.cell)}: has ${short(even)} times the average weight, ` +
                                `adds ${sum.toFixed(4)} (${percent(share)} of the score).`);
    } else {
      this.judge(shown, share);
      html(this.words, "p", "match-measure-note", "Point at a part, or tap it, to see where its mass goes.");
    }
    if (shown[0]?.region) return this.tellRegions(shown);
    this.table(["source (row,column)", "target", `[flow, 1 = even] × [similarity] / ${count}`, "adds", "share"],
               shown.slice(0, 12).map((pair) => [this.source.name(pair.source), this.target.name(pair.target), formula(pair),
                                                 pair.contribution.toFixed(4), percent(pair.share)]));
  }

  tellRegions(regions) {
    this.table(["cells of the source", "cells of the target", "mean similarity", "adds", "share"],
               regions.map((region) => [String(region.source.length), String(region.target.length), region.similarity.toFixed(2),
                                        region.contribution.toFixed(4), percent(region.share)]));
  }

  table(titles, rows) {
    const table = html(this.words, "table", "match-table");
    const head = html(html(table, "thead"), "tr");
    for (const title of titles) html(head, "th", "", title).scope = "col";
    const body = html(table, "tbody");
    for (const texts of rows) {
      const row = html(body, "tr");
      for (const text of texts) html(row, "td", "", text);
    }
  }
}

export function drawMatch(container, explanation, options) {
  return new MatchView(container, explanation, options);
}

// Two images and what flows between their parts. Needs nothing but the browser; match_view.css has the looks.
//
//   drawMatch(container, explanation, {sourceImage, targetImage, sourceName, targetName, arrows})
//
// explanation: the object of docs/explain.md, of which the shapes, marginals, similarity, plan, score and cosine are
// read. Images are addresses (data: or other) of what the network saw. Text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 300;
const GAP = 200;
const WIDTH = 2 * SIDE + GAP;
const LABELS = 10; // more of them would hide the arrows
const PITCH = 26;

function svg(parent, name, attributes = {}) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
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

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const short = (value) => value.toFixed(Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0);
const formula = (pair) => `[${short(pair.amplified)}] × [${pair.similarity.toFixed(2)}]`;

// All pairs of cells, strongest first: made from the matrices, since a file may list only some.
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

// Labels in a column, each as near to where it wants to be as its neighbours allow.
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
  constructor(parent, view, { left, rows, cols, image, name, weights, side }) {
    Object.assign(this, { left, rows, cols, weights, side });
    this.group = svg(parent, "g", { class: "match-grid", tabindex: 0, role: "application",
                                    "aria-label": `${name}: parts, chosen with the arrow keys` });
    svg(this.group, "image", { href: image, x: left, y: 0, width: SIDE, height: SIDE, preserveAspectRatio: "none" });
    const most = Math.max(...weights, 1.5 / weights.length);
    this.cells = weights.map((weight, cell) => {
      const place = { x: left + (cell % cols) * SIDE / cols, y: Math.floor(cell / cols) * SIDE / rows,
                      width: SIDE / cols, height: SIDE / rows };
      svg(this.group, "rect", { ...place, class: "match-heat", "fill-opacity": (0.75 * weight / most).toFixed(4) });
      const flow = svg(this.group, "rect", { ...place, class: "match-flow", "fill-opacity": 0 });
      const cover = svg(this.group, "rect", { ...place, class: "match-cell" });
      cover.addEventListener("pointerenter", () => view.look(side, cell));
      cover.addEventListener("click", () => view.pin(side, cell));
      return { flow, cover };
    });
    this.group.addEventListener("pointerleave", () => view.look(null));
    this.group.addEventListener("keydown", (event) => this.move(event, view));
  }

  move(event, view) {
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

  middle(cell) {
    return { x: this.left + (cell % this.cols + 0.5) * SIDE / this.cols,
             y: (Math.floor(cell / this.cols) + 0.5) * SIDE / this.rows };
  }

  name(cell) {
    return `(${Math.floor(cell / this.cols)},${cell % this.cols})`;
  }
}

class MatchView {
  constructor(container, explanation, options) {
    this.explanation = explanation;
    this.pairs = allPairs(explanation);
    this.pinned = null;
    container.replaceChildren();
    const root = html(container, "div", "match-view");
    const line = html(root, "p", "match-scores");
    html(line, "span", "", `cosine similarity ${explanation.cosine.toFixed(4)} → `);
    html(line, "strong", "", `structural similarity ${explanation.score.toFixed(4)}`);
    this.controls(root, options.arrows ?? 5);
    this.drawing = svg(root, "svg", { viewBox: `0 0 ${WIDTH} ${SIDE}`, class: "match-drawing" });
    const { marginals } = explanation;
    this.source = new Grid(this.drawing, this, {
      side: "source", left: 0, rows: explanation.rows_source, cols: explanation.cols_source, weights: marginals.source,
      image: options.sourceImage, name: options.sourceName ?? "source" });
    this.target = new Grid(this.drawing, this, {
      side: "target", left: SIDE + GAP, rows: explanation.rows_target, cols: explanation.cols_target,
      weights: marginals.target, image: options.targetImage, name: options.targetName ?? "target" });
    this.arrows = svg(this.drawing, "g", { class: "match-arrows" });
    const names = html(root, "div", "match-names");
    html(names, "span", "", options.sourceName ?? "source");
    html(names, "span", "", options.targetName ?? "target");
    this.words = html(root, "div", "match-words");
    this.show();
  }

  controls(root, arrows) {
    const row = html(root, "p", "match-controls");
    const label = html(row, "label", "", "strongest pairs ");
    this.slider = html(label, "input");
    Object.assign(this.slider, { type: "range", min: 0, max: Math.min(60, this.pairs.length), value: arrows });
    this.count = html(label, "output");
    this.slider.addEventListener("input", () => this.show());
    const heat = html(row, "label");
    this.heat = html(heat, "input");
    Object.assign(this.heat, { type: "checkbox", checked: true });
    heat.append(" how much each part weighs");
    this.heat.addEventListener("change", () => this.show());
  }

  pin(side, cell) {
    const same = this.pinned?.side === side && this.pinned.cell === cell;
    this.pinned = same ? null : { side, cell };
    this.show();
  }

  look(side, cell) {
    this.show(side === null ? null : { side, cell });
  }

  // chosen: a cell that is looked at; else the pinned one; else the strongest pairs are shown.
  show(chosen = null) {
    const at = chosen ?? this.pinned;
    const shown = at ? this.pairs.filter((pair) => pair[at.side] === at.cell && pair.mass > 0)
                     : this.pairs.slice(0, Number(this.slider.value));
    this.count.textContent = this.slider.value;
    this.drawing.classList.toggle("match-without-heat", !this.heat.checked || at !== null);
    const other = at?.side === "source" ? this.target : this.source;
    const most = Math.max(...shown.map((pair) => pair.mass), 1e-12);
    for (const grid of [this.source, this.target]) {
      for (const { flow, cover } of grid.cells) {
        flow.setAttribute("fill-opacity", 0);
        cover.classList.remove("match-chosen");
      }
    }
    if (at) {
      for (const pair of shown) {
        const cell = at.side === "source" ? pair.target : pair.source;
        other.cells[cell].flow.setAttribute("fill-opacity", (0.7 * pair.mass / most).toFixed(4));
      }
      this[at.side].cells[at.cell].cover.classList.add("match-chosen");
    }
    this.drawArrows(at ? shown.slice(0, 3) : shown);
    this.tell(at, shown);
  }

  drawArrows(pairs) {
    this.arrows.replaceChildren();
    if (pairs.length === 0) return;
    const labelled = pairs.slice(0, LABELS);
    const places = labelPlaces(labelled.map((pair) => (this.source.middle(pair.source).y +
                                                       this.target.middle(pair.target).y) / 2), PITCH, 12, SIDE - 12);
    const most = Math.max(...this.pairs.slice(0, 1).map((pair) => pair.contribution), 1e-12);
    pairs.map((pair, k) => [pair, k]).reverse().forEach(([pair, k]) => {
      const from = this.source.middle(pair.source);
      const to = this.target.middle(pair.target);
      const x = WIDTH / 2;
      const y = k < LABELS ? places[k] : (from.y + to.y) / 2;
      const kind = pair.contribution < 0 ? "match-arrow match-against" : "match-arrow";
      const group = svg(this.arrows, "g", { class: kind });
      const path = `M${from.x} ${from.y} C${(from.x + x) / 2} ${from.y} ${(from.x + x) / 2} ${y} ${x} ${y} ` +
                   `C${(to.x + x) / 2} ${y} ${(to.x + x) / 2} ${to.y} ${to.x - 6} ${to.y}`;
      const width = 1 + 2.2 * Math.sqrt(Math.max(0, pair.contribution) / most);
      svg(group, "path", { d: path, class: "match-rim", "stroke-width": width + 2 });
      svg(group, "path", { d: path, "stroke-width": width });
      svg(group, "path", { d: `M${to.x + 2} ${to.y} l-10 -5 v10 z`, class: "match-head" });
      svg(group, "circle", { cx: from.x, cy: from.y, r: 3, class: "match-head" });
      if (k >= LABELS) return;
      svg(group, "rect", { x: x - 55, y: y - 11, width: 110, height: 22, rx: 11, class: "match-label" });
      svg(group, "text", { x, y: y + 4, "text-anchor": "middle" }).textContent = formula(pair);
    });
  }

  tell(at, shown) {
    this.words.replaceChildren();
    const sum = shown.reduce((total, pair) => total + pair.contribution, 0);
    const share = this.explanation.score === 0 ? 0 : sum / this.explanation.score;
    const count = this.pairs.length;
    if (at) {
      const grid = this[at.side];
      const even = grid.weights[at.cell] * grid.weights.length;
      html(this.words, "p", "", `${at.side} ${grid.name(at.cell)}: weighs ${short(even)} times as much as on average, ` +
                                `adds ${sum.toFixed(4)} (${percent(share)} of the score).`);
    } else {
      html(this.words, "p", "", `The ${shown.length} strongest of ${count} pairs of parts add ${sum.toFixed(4)}, ` +
                                `${percent(share)} of the score. Point at a part to see where it goes.`);
    }
    const table = html(this.words, "table", "match-table");
    const head = html(html(table, "thead"), "tr");
    for (const title of ["source (row,column)", "target", `[flow, 1 = even] × [similarity] / ${count}`, "adds", "share"]) {
      html(head, "th", "", title);
    }
    const body = html(table, "tbody");
    for (const pair of shown.slice(0, 12)) {
      const row = html(body, "tr");
      for (const text of [this.source.name(pair.source), this.target.name(pair.target), formula(pair),
                          pair.contribution.toFixed(4), percent(pair.share)]) {
        html(row, "td", "", text);
      }
    }
  }
}

export function drawMatch(container, explanation, options) {
  return new MatchView(container, explanation, options);
}

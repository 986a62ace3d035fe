// Two pictures side by side, the mass that flows between their parts, and the sum that gives the score.

import * as api from "./api.js";
import { pictureOf, seenPart, slot, takePhoto } from "./choose.js";
import { fileName, figure, png, save } from "./download.js";
import { delayed, el, latest, rules } from "./elements.js";
import { drawMatch } from "./match_view.js";

const MOST_TERMS = 12;
const LEAST_LAMBDA = 0.001;

// The slider is logarithmic: 0.001 to 1 in 300 steps.
const lambdaAt = (step) => LEAST_LAMBDA * 10 ** (step / 100);
const stepOf = (lambda) => Math.round(100 * Math.log10(lambda / LEAST_LAMBDA));
const shortLambda = (lambda) => Number(lambda.toPrecision(3));

const four = (value) => value.toFixed(4);

// score = contributions of the strongest pairs + the rest; total = cosine + score.
function sum(explanation, arrows) {
  const count = explanation.plan.length * explanation.plan[0].length;
  const terms = explanation.pairs.slice(0, Math.min(arrows, MOST_TERMS));
  const rest = explanation.score - terms.reduce((all, pair) => all + pair.contribution, 0);
  const cell = (index, cols) => `(${Math.floor(index / cols)},${index % cols})`;
  const row = (words, formula, value, kind = "") =>
    el("tr", { class: kind }, el("td", {}, words), el("td", { class: "formula" }, formula), el("td", { class: "number" }, value));
  const notes = [];
  if (explanation.fallbacks.uniform_source) notes.push("no source part correlates with the target: uniform weights");
  if (explanation.fallbacks.uniform_target) notes.push("no target part correlates with the source: uniform weights");
  if (!explanation.converged) notes.push("the plan has not converged");
  return el("section", { class: "sum", "aria-label": "The sum" },
    el("h2", {}, "The sum"),
    el("table", {},
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "parts, (row,column)"), el("th", { scope: "col" }, "flow × similarity"), el("th", { scope: "col" }, "adds"))),
      el("tbody", {},
        ...terms.map((pair) => row(`${cell(pair.source, explanation.cols_source)} → ${cell(pair.target, explanation.cols_target)}`,
                                   `${pair.amplified.toFixed(2)} × ${pair.similarity.toFixed(3)} / ${count}`, four(pair.contribution))),
        row(`the other ${count - terms.length} pairs`, "", four(rest)),
        row("structural similarity", "the sum", four(explanation.score), "line score-row"),
        row("cosine of the whole pictures", "", four(explanation.cosine), "cosine-row"),
        row("total", "what search ranks by", four(explanation.total), "line total-row"))),
    el("p", { class: "hint" }, explanation.params.solver === "exact"
      ? "Exact transport: no entropy, lambda does not apply."
      : `Entropic transport, lambda ${shortLambda(explanation.params.lambda)}, ${explanation.iterations} iterations.`),
    ...(explanation.params.mass < 1 ? [el("p", { class: "hint" },
      `${Math.round(100 * explanation.params.mass)} % of the mass is transported: the parts that match worst stay out.`)] : []),
    ...(explanation.prior ? [el("p", { class: "hint" }, explanation.prior.trusted
      ? `Affine prior: ${explanation.prior.rounds} rounds, support ${explanation.prior.support.toFixed(2)}.`
      : `Affine prior not used: the fit is ${explanation.prior.doubt.replace("_", " ")}.`)] : []),
    ...notes.map((note) => el("p", { class: "note" }, note)));
}

function choice(page, name, options, otherwise, changed) {
  const now = page.state[name] ?? otherwise;
  return el("fieldset", { class: "choice" }, el("legend", {}, name),
    ...options.map(([value, text]) => el("label", {},
      el("input", { type: "radio", name, value, checked: now === value,
                    onchange: () => { page.note({ [name]: value }); changed(); } }), text)));
}

const FIRST_ARROWS = 6;

// What the reader of a match chose, as words of the address; only what differs from the first view. Arrows mean pairs of parts
// unless regions are on.
function viewOf({ arrows, regions, weight, frames, pin }) {
  const [side, cell] = /^(source|target)\.\d+$/.test(pin ?? "") ? pin.split(".") : [];
  return { arrows: Number(arrows ?? FIRST_ARROWS), regions: arrows === undefined || regions === "on", weight: weight !== "off",
           frames: frames !== "off", pinned: side ? { side, cell: Number(cell) } : null };
}

function stateOf({ arrows, regions, weight, frames, pinned }) {
  const told = !regions || arrows !== FIRST_ARROWS;
  return { arrows: told ? arrows : undefined, regions: told && regions ? "on" : undefined, weight: weight ? undefined : "off",
           frames: frames ? undefined : "off", pin: pinned ? `${pinned.side}.${pinned.cell}` : undefined };
}

const turned = (pin) => pin?.replace(/^(source|target)/, (side) => (side === "source" ? "target" : "source"));

export async function compareView(page) {
  const { about, state } = page;
  const problems = [];
  if (about.photos) {
    const place = state.a && !state.b ? "b" : "a";
    page.takeDrops("Drop a photo to compare it", (files) => takePhoto(files, (key) => page.go({ [place]: key, pin: undefined }), page.tell));
  }
  const opened = (word) => pictureOf(word).catch((problem) => { problems.push(problem); return null; });
  const [source, target] = await Promise.all([opened(state.a), opened(state.b)]);
  const holder = el("div", { class: "match-holder" });
  const sums = el("div", {});
  const files = el("p", { class: "downloads" });
  const note = el("p", { class: "hint", hidden: true });
  const fields = () => ({ marginals: state.marginals ?? about.defaults.marginals,
                          lambda: Number(state.lambda ?? about.defaults.lambda),
                          mass: Number(state.mass ?? about.defaults.mass), solver: state.solver ?? "entropic",
                          // The exact solver has no prior.
                          prior: state.solver === "exact" ? "none" : state.prior ?? about.defaults.prior });
  let pictures = null;

  const draw = (explanation, [from, to]) => {
    const view = drawMatch(holder, explanation, { sourceImage: from.address, targetImage: to.address, sourceName: source.name,
                                                  targetName: target.name, ...viewOf(state),
                                                  changed: (now) => { page.note(stateOf(now)); write(now.arrows); } });
    const write = (arrows) => sums.replaceChildren(sum(explanation, arrows));
    write(view.state().arrows);
    const small = [[source, from], [target, to]].filter(([, picture]) => !picture.original).map(([{ name }]) => name);
    note.hidden = small.length === 0;
    note.textContent = `Shown from the thumbnail, as the photo itself cannot be read here: ${small.join(", ")}.`;
    const button = (text, make, type) => el("button", { type: "button", onclick: async () => {
      try { save(fileName([source.name, target.name], text.toLowerCase()), await make(), type); } catch (problem) { page.tell(problem); }
    } }, text);
    files.replaceChildren("Download ",
      button("SVG", () => figure(view), "image/svg+xml"), button("PNG", () => png(figure(view)), "image/png"),
      button("JSON", () => JSON.stringify({ source: source.name, target: target.name, ...explanation }, null, 1), "application/json"));
  };
  const run = latest(page.signal, async (signal) => {
    if (!source || !target) return;
    try {
      holder.classList.add("waiting");
      pictures ??= Promise.all([seenPart(source, about.crop), seenPart(target, about.crop)]);
      const [explanation, both] = await Promise.all([api.explain(source, target, fields(), signal), pictures]);
      draw(explanation, both);
      holder.classList.remove("waiting");
      page.tell(null);
    } catch (problem) {
      if (problem.name !== "AbortError") holder.classList.remove("waiting");
      page.tell(problem);
    }
  });
  const soon = delayed(60, run, page.signal);

  const output = el("output", {}, String(shortLambda(fields().lambda)));
  const lambda = el("input", { type: "range", name: "lambda", min: 0, max: 300, value: stepOf(fields().lambda),
                               oninput: () => {
                                 const value = shortLambda(lambdaAt(Number(lambda.value)));
                                 output.textContent = String(value);
                                 page.note({ lambda: value });
                                 soon();
                               } });
  const percent = (value) => `${Math.round(100 * value)} %`;
  const share = el("output", {}, percent(fields().mass));
  const mass = el("input", { type: "range", name: "mass", min: 5, max: 100, step: 5, value: Math.round(100 * fields().mass),
                             oninput: () => {
                               share.textContent = percent(Number(mass.value) / 100);
                               page.note({ mass: Number(mass.value) / 100 });
                               soon();
                             } });
  const place = (name, title, picture) => slot({
    title, picture, photos: about.photos, galleryLink: page.address("gallery", { ...state, pick: name }),
    change: (key) => page.go({ [name]: key, pin: undefined }), tell: page.tell });
  for (const problem of problems) page.tell(problem);
  run();
  return [
    el("section", { class: "panel" },
      el("div", { class: "slots" }, place("a", "Source", source),
        el("button", { type: "button", class: "swap", title: "Swap the two", "aria-label": "Swap the two",
                       onclick: () => page.go({ a: state.b, b: state.a, pin: turned(state.pin) }) }, "⇄"),
        place("b", "Target", target))),
    source && target ? el("section", { class: "pair" }, holder, note, sums, files)
                     : el("p", { class: "welcome" }, "Choose two pictures to see which parts of them match."),
    el("details", { class: "panel settings", open: Boolean(state.marginals || state.lambda || state.mass || state.solver || state.prior) },
      el("summary", {}, "How the parts are matched"),
      el("div", { class: "controls" },
        choice(page, "marginals", rules(about), about.defaults.marginals, run),
        choice(page, "solver", [["entropic", "entropic"], ...(about.exact ? [["exact", "exact"]] : [])], "entropic", run),
        choice(page, "prior", [["none", "none"], ["affine", "affine: neighbours stay neighbours"]], about.defaults.prior, run),
        el("label", { class: "control" }, el("span", {}, "lambda"), lambda, output),
        el("label", { class: "control" }, el("span", {}, "mass"), mass, share))),
  ];
}

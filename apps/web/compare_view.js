// Two pictures side by side, what flows between their parts, and the sum that makes up the score.

import * as api from "./api.js";
import { pictureOf, seenPart, slot } from "./choose.js";
import { png, save, standalone } from "./download.js";
import { delayed, el, latest } from "./elements.js";
import { drawMatch } from "./match_view.js";

const MOST_TERMS = 12;
const LEAST_LAMBDA = 0.001;

// The slider is logarithmic: 0.001 to 1 in 300 steps.
const lambdaAt = (step) => LEAST_LAMBDA * 10 ** (step / 100);
const stepOf = (lambda) => Math.round(100 * Math.log10(lambda / LEAST_LAMBDA));
const shortLambda = (lambda) => Number(lambda.toPrecision(3));

const four = (value) => value.toFixed(4);

// score = the strongest pairs, each with what it adds, + the rest; total = cosine + score.
function sum(explanation, arrows) {
  const count = explanation.plan.length * explanation.plan[0].length;
  const terms = explanation.pairs.slice(0, Math.min(arrows, MOST_TERMS));
  const rest = explanation.score - terms.reduce((all, pair) => all + pair.contribution, 0);
  const cell = (index, cols) => `(${Math.floor(index / cols)},${index % cols})`;
  const row = (words, formula, value, kind = "") =>
    el("tr", { class: kind }, el("td", {}, words), el("td", { class: "formula" }, formula), el("td", { class: "number" }, value));
  const notes = [];
  if (explanation.fallbacks.uniform_source) notes.push("no source part correlates with the target: all of them weigh alike");
  if (explanation.fallbacks.uniform_target) notes.push("no target part correlates with the source: all of them weigh alike");
  if (!explanation.converged) notes.push("the plan has not converged");
  return el("section", { class: "sum", "aria-label": "The sum" },
    el("h2", {}, "The sum"),
    el("table", {},
      el("thead", {}, el("tr", {}, el("th", {}, "parts, (row,column)"), el("th", {}, "flow × similarity"), el("th", {}, "adds"))),
      el("tbody", {},
        ...terms.map((pair) => row(`${cell(pair.source, explanation.cols_source)} → ${cell(pair.target, explanation.cols_target)}`,
                                   `${pair.amplified.toFixed(2)} × ${pair.similarity.toFixed(3)} / ${count}`, four(pair.contribution))),
        row(`the other ${count - terms.length} pairs`, "", four(rest)),
        row("structural similarity", "the sum", four(explanation.score), "line score-row"),
        row("cosine of the globals", "", four(explanation.cosine), "cosine-row"),
        row("total", "what search ranks by", four(explanation.total), "line total-row"))),
    el("p", { class: "hint" }, explanation.params.solver === "exact"
      ? "Exact transport: no entropy, lambda does not apply."
      : `Entropic transport, lambda ${shortLambda(explanation.params.lambda)}, ${explanation.iterations} iterations.`),
    ...notes.map((note) => el("p", { class: "note" }, note)));
}

function choice(page, name, options, otherwise, changed) {
  const now = page.state[name] ?? otherwise;
  return el("fieldset", { class: "choice" }, el("legend", {}, name),
    ...options.map(([value, text]) => el("label", {},
      el("input", { type: "radio", name, value, checked: now === value,
                    onchange: () => { page.note({ [name]: value }); changed(); } }), text)));
}

export async function compareView(page) {
  const { about, state } = page;
  const problems = [];
  const opened = (word) => pictureOf(word).catch((problem) => { problems.push(problem); return null; });
  const [source, target] = await Promise.all([opened(state.a), opened(state.b)]);
  const holder = el("div", { class: "match-holder" });
  const sums = el("div", {});
  const files = el("p", { class: "downloads" });
  const fields = () => ({ marginals: state.marginals ?? about.defaults.marginals,
                          lambda: Number(state.lambda ?? about.defaults.lambda), solver: state.solver ?? "entropic" });
  let pictures = null;

  const run = latest(async (signal) => {
    if (!source || !target) return;
    try {
      pictures ??= Promise.all([seenPart(source, about.crop), seenPart(target, about.crop)]);
      const [explanation, [sourceImage, targetImage]] =
        await Promise.all([api.explain(source, target, fields(), signal), pictures]);
      const view = drawMatch(holder, explanation, { sourceImage, targetImage, sourceName: source.name,
                                                    targetName: target.name, arrows: Number(state.arrows ?? 5) });
      const write = () => sums.replaceChildren(sum(explanation, Number(view.slider.value)));
      view.slider.addEventListener("input", () => { page.note({ arrows: view.slider.value }); write(); });
      write();
      const button = (text, name, make, type) => el("button", { type: "button", onclick: async () => {
        try { save(name, await make(), type); } catch (problem) { page.tell(problem); }
      } }, text);
      files.replaceChildren("Download ",
        button("SVG", "match.svg", () => standalone(view.drawing), "image/svg+xml"),
        button("PNG", "match.png", () => png(view.drawing), "image/png"),
        button("JSON", "match.json", () => JSON.stringify(explanation, null, 1), "application/json"));
      page.tell(null);
    } catch (problem) {
      page.tell(problem);
    }
  });
  const soon = delayed(60, run);

  const output = el("output", {}, String(shortLambda(fields().lambda)));
  const lambda = el("input", { type: "range", name: "lambda", min: 0, max: 300, value: stepOf(fields().lambda),
                               oninput: () => {
                                 const value = shortLambda(lambdaAt(Number(lambda.value)));
                                 output.textContent = String(value);
                                 page.note({ lambda: value });
                                 soon();
                               } });
  const place = (name, title, picture) => slot({
    title, picture, photos: about.photos, galleryLink: page.address("gallery", { ...state, pick: name }),
    change: (key) => page.go({ [name]: key }) });
  for (const problem of problems) page.tell(problem);
  run();
  return [
    el("section", { class: "panel" },
      el("div", { class: "slots" }, place("a", "Source", source),
        el("button", { type: "button", class: "swap", title: "Swap the two", "aria-label": "Swap the two",
                       onclick: () => page.go({ a: state.b, b: state.a }) }, "⇄"),
        place("b", "Target", target)),
      el("div", { class: "controls" },
        choice(page, "marginals", [["cross_correlation", "cross-correlation"], ["uniform", "uniform"]],
               about.defaults.marginals, run),
        choice(page, "solver", [["entropic", "entropic"], ...(about.exact ? [["exact", "exact"]] : [])], "entropic", run),
        el("label", { class: "control" }, el("span", {}, "lambda"), lambda, output))),
    source && target ? el("section", { class: "pair" }, holder, sums, files)
                     : el("p", { class: "welcome" }, "Choose two pictures to see which parts of them match."),
  ];
}

// A photo or an image of the gallery, and similar images: by the cosine alone, and after structural re-ranking.

import * as api from "./api.js";
import { pictureOf, slot, takePhoto, thumbnailOf } from "./choose.js";
import { fileName, hitsTable, save } from "./download.js";
import { countOf, delayed, el, hasLabel, labelText, lastName, latest, rules, shortPath } from "./elements.js";
import { conditionsOf, filterBox, whereOf } from "./filters.js";

const bar = (kind, value) => {
  const fill = el("span", { class: `bar-fill ${kind}` });
  fill.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
  return el("span", { class: "bar", "aria-hidden": "true" }, fill);
};

const MEANINGS = { global: "whole picture: the cosine of the global vectors", structural: "part by part: the structural similarity" };

function score(name, kind, value) {
  return el("span", { class: "score", title: MEANINGS[name] }, el("span", { class: "score-name" }, name),
            value === null ? el("span", { class: "bar" }) : bar(kind, value),
            el("span", { class: "number", "data-score": name }, value === null ? "–" : value.toFixed(4)));
}

function move(hit) {
  const up = hit.first_rank - hit.rank;
  const words = up > 0 ? `▲ ${up}` : up < 0 ? `▼ ${-up}` : "=";
  const kind = up > 0 ? "up" : up < 0 ? "down" : "same";
  return el("span", { class: `move ${kind}`, title: `rank ${hit.first_rank} by the cosine alone` },
            words, el("span", { class: "visually-hidden" }, ` was ${hit.first_rank}`));
}

function card(hit, page, query) {
  const compare = page.address("compare", { a: query.key, b: hit.id });
  const same = hasLabel(query.label) && query.label === hit.label;
  return el("li", { class: same ? "card same" : "card", "data-id": hit.id },
    el("a", { href: compare, class: "card-picture", title: "Why? Compare the two" },
      thumbnailOf(hit.id, shortPath(hit.path)), el("span", { class: "rank" }, String(hit.rank)), move(hit)),
    el("div", { class: "card-words" },
      score("global", "global", hit.global), score("structural", "structural", hit.structural),
      el("span", { class: "score total" }, el("span", { class: "score-name" }, "total"),
         el("span", { class: "number", "data-score": "total" }, hit.total.toFixed(4))),
      el("span", { class: "card-name" }, el("span", { class: "path", title: hit.path }, lastName(hit.path)),
         hasLabel(hit.label) ? el("span", { class: "tag" }, labelText(hit.label)) : null),
      el("span", { class: "card-links" },
         el("a", { href: compare, "aria-label": `Why ${shortPath(hit.path)}?` }, "Why?"),
         el("a", { href: page.address("search", { ...page.state, photo: undefined, id: hit.id }),
                   "aria-label": `Search with ${shortPath(hit.path)}` }, "Search"))));
}

// Lines from a hit's rank by the cosine to its rank after re-ranking.
function slopes(hits) {
  const SVG = "http://www.w3.org/2000/svg";
  const shown = hits.slice(0, 20);
  // Evenly spaced on both sides: ranks of hits that are not shown take no space.
  const before = shown.map((hit) => hit.first_rank).sort((x, y) => x - y);
  const height = 18 * shown.length + 24;
  const svg = document.createElementNS(SVG, "svg");
  const put = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    svg.append(element);
  };
  svg.setAttribute("viewBox", `0 0 200 ${height}`);
  svg.setAttribute("class", "slopes");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "Ranks by the cosine alone, and after re-ranking");
  put("text", { x: 30, y: 12, class: "slope-title", "text-anchor": "middle" }, "cosine");
  put("text", { x: 165, y: 12, class: "slope-title", "text-anchor": "middle" }, "re-ranked");
  const y = (rank) => 18 * rank + 12;
  for (const hit of shown) {
    const from = before.indexOf(hit.first_rank) + 1;
    const kind = hit.first_rank > hit.rank ? "up" : hit.first_rank < hit.rank ? "down" : "same";
    put("path", { d: `M46 ${y(from)} C100 ${y(from)} 100 ${y(hit.rank)} 150 ${y(hit.rank)}`, class: `slope ${kind}` });
    put("text", { x: 40, y: y(from) + 4, "text-anchor": "end" }, hit.first_rank);
    put("text", { x: 156, y: y(hit.rank) + 4 }, hit.rank);
  }
  return svg;
}

function control(label, input, output) {
  return el("label", { class: "control" }, el("span", {}, label), input, output);
}

// In how many images the search was, and what it was narrowed to.
function summaryOf(found, state) {
  const only = conditionsOf(state);
  const seconds = 1000 * (found.seconds.embed + found.seconds.search);
  return `${countOf(found.hits.length, "hit")} among ${countOf(found.items, "image")}` +
         `${only.length > 0 ? `, only ${only.join(" and ")}` : ""}, in ${seconds.toFixed(1)} ms`;
}

function welcome(about) {
  return el("section", { class: "welcome" },
    el("p", {}, about.photos ? "Drop a photo anywhere, or pick an image from the gallery." : "Pick an image from the gallery."),
    el("p", { class: "hint" }, "You see the images that resemble it most. For each of them, “Why?” shows which parts of the two " +
                               "match, and how much each pair of parts adds to the score."));
}

export async function searchView(page) {
  const { about, state } = page;
  const choose = async (key) => page.go({ photo: key, id: undefined });
  if (about.photos) {
    page.takeDrops("Drop the photo to search for it", (files) => takePhoto(files, choose, page.tell));
  }
  let trouble = null;
  const query = await pictureOf(state.photo ?? state.id).catch((problem) => { trouble = problem; return null; });
  const results = el("section", { class: "results", "aria-label": "Hits" });
  const fields = () => ({ top: Number(state.top ?? 12), rerank: Number(state.rerank ?? about.defaults.rerank),
                          marginals: state.marginals ?? about.defaults.marginals,
                          lambda: Number(state.lambda ?? about.defaults.lambda),
                          mass: Number(state.mass ?? about.defaults.mass), ...whereOf(state) });

  const run = latest(page.signal, async (signal) => {
    if (!query) return;
    try {
      results.classList.add("waiting");
      const found = await api.search(query, fields(), signal);
      const name = (ending) => fileName(["hits", query.name], ending);
      results.replaceChildren(
        el("div", { class: "summary-row" },
          el("p", { class: "summary", role: "status" }, summaryOf(found, state)),
          el("span", { class: "downloads" }, "Download ",
            el("button", { type: "button", onclick: () => save(name("csv"), hitsTable(query, found.hits), "text/csv") }, "CSV"),
            el("button", { type: "button",
                           onclick: () => save(name("json"), JSON.stringify({ query: query.name, ...found }, null, 1), "application/json") }, "JSON"))),
        el("div", { class: "found" },
          el("ol", { class: "cards" }, ...found.hits.map((hit) => card(hit, page, query))),
          found.hits.length > 0 && found.hits.some((hit) => hit.structural !== null)
            ? el("aside", { class: "slopes-box" }, el("h2", {}, "Ranks before and after re-ranking"), slopes(found.hits)) : null));
      if (found.hits.length === 0) results.append(el("p", { class: "welcome" }, "No image fits the filters."));
      results.classList.remove("waiting");
      page.tell(null);
    } catch (problem) {
      if (problem.name !== "AbortError") results.classList.remove("waiting");
      page.tell(problem);
    }
  });
  const soon = delayed(120, run, page.signal);

  const range = (name, least, most, text) => {
    const value = fields()[name];
    const output = el("output", {}, String(value));
    const input = el("input", { type: "range", min: least, max: most, value, name,
                                oninput: () => { output.textContent = input.value; page.note({ [name]: input.value }); soon(); } });
    return control(text, input, output);
  };
  const marginals = el("select", { name: "marginals",
                                   onchange: () => { page.note({ marginals: marginals.value }); run(); } },
                       ...rules(about).map(([value, text]) =>
                         el("option", { value, selected: fields().marginals === value }, text)));
  run();
  if (trouble) page.tell(trouble);
  return [
    el("section", { class: "panel" },
      slot({ title: "Query", picture: query, photos: about.photos, galleryLink: page.address("gallery", {}), change: choose,
             tell: page.tell }),
      el("div", { class: "controls" },
        range("top", 1, 60, "hits"), range("rerank", 0, Math.min(500, about.limits.hits), "candidates re-ranked"),
        control("marginals", marginals)),
      filterBox(about, state, (edit) => page.go(edit))),
    query ? results : welcome(about),
  ];
}

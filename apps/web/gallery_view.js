// All images, by label. Also the place from which the other views take one.

import * as api from "./api.js";
import { thumbnailOf } from "./choose.js";
import { el, labelText, shortPath } from "./elements.js";

const PER_PAGE = 60;

export async function galleryView(page) {
  const { about, state } = page;
  const offset = Math.max(0, Number(state.offset) || 0);
  const fields = { offset, limit: PER_PAGE, ...(state.label ? { label: state.label } : {}) };
  const list = await api.items(fields);
  const slot = state.pick === "a" || state.pick === "b" ? state.pick : null;

  // Where a click on an image leads.
  const target = (id) => (slot
    ? page.address("compare", { ...pairState(state), [slot]: id })
    : page.address("search", { id }));
  const labels = el("select", { name: "label",
                                onchange: () => page.go({ label: labels.value, offset: undefined }) },
    el("option", { value: "" }, `all ${about.items} images`),
    ...about.labels.map(({ label, count }) =>
      el("option", { value: label, selected: String(label) === state.label }, `${labelText(label)} (${count})`)));
  const cards = list.items.map((item) => el("li", { class: "card", "data-id": item.id },
    el("a", { href: target(item.id), class: "card-picture",
              title: slot ? "Take this one" : "Search for what resembles it" }, thumbnailOf(item.id, shortPath(item.path))),
    el("div", { class: "card-words" },
      el("span", { class: "path" }, shortPath(item.path)),
      el("span", { class: "card-links" },
        el("a", { class: "tag", href: page.address("gallery", { ...state, label: item.label, offset: undefined }) },
           labelText(item.label)),
        slot ? null : el("a", { href: page.address("compare", { a: item.id }) }, "Compare")))));
  const step = (words, to, there) => (there
    ? el("a", { class: "button", href: page.address("gallery", { ...state, offset: to || undefined }) }, words) : null);
  const last = Math.min(offset + PER_PAGE, list.total);
  return [
    el("section", { class: "panel row" },
      el("label", { class: "control" }, el("span", {}, "show"), labels),
      slot ? el("strong", { class: "picking" }, `Pick the ${slot === "a" ? "source" : "target"} of the comparison`) : null,
      el("span", { class: "pages" },
        step("← Earlier", Math.max(0, offset - PER_PAGE), offset > 0),
        el("span", {}, list.total === 0 ? "nothing here" : `${offset + 1}–${last} of ${list.total}`),
        step("Later →", offset + PER_PAGE, last < list.total))),
    el("ul", { class: "cards" }, ...cards),
  ];
}

function pairState({ a, b, marginals, lambda, solver, arrows }) {
  return { a, b, marginals, lambda, solver, arrows };
}

// All images: by label, by name, by conditions, page by page. The other views also use it to pick an image.

import { openAddPanel } from "./add_panel.js";
import * as api from "./api.js";
import { takePhoto, thumbnailOf } from "./choose.js";
import { countOf, delayed, el, hasLabel, labelText, lastName, shortPath } from "./elements.js";
import { filterBox, whereOf } from "./filters.js";
import { openItemPanel } from "./item_panel.js";
import { PHOTO_FILES } from "./photos.js";

const PER_PAGE = 60;

// 1 … 4 [5] 6 … 12: the first, the last, and the neighbours of the current one.
export function pagesShown(current, last) {
  const wanted = [1, current - 1, current, current + 1, last].filter((page) => page >= 1 && page <= last);
  const pages = [...new Set(wanted)].sort((x, y) => x - y);
  // A gap of one page is that page.
  return pages.flatMap((page, k) => {
    const before = pages[k - 1] ?? page - 1;
    if (page - before === 2) return [page - 1, page];
    return page - before > 2 ? ["…", page] : [page];
  });
}

function pageLinks(page, current, last) {
  const offsetOf = (number) => (number > 1 ? (number - 1) * PER_PAGE : undefined);
  const to = (number) => page.address("gallery", { ...page.state, offset: offsetOf(number) });
  const step = (text, name, number, there) => (there ? el("a", { class: "button", href: to(number), "aria-label": name }, text) : null);
  if (last <= 1) return null;
  return el("nav", { class: "pages", "aria-label": "Pages" },
    step("←", "Previous page", current - 1, current > 1),
    ...pagesShown(current, last).map((number) => (number === "…" ? el("span", { class: "gap" }, "…")
      : el("a", { class: "button", href: to(number), "aria-current": number === current ? "page" : null,
                  "aria-label": `Page ${number}` }, String(number)))),
    step("→", "Next page", current + 1, current < last));
}

function cardOf(page, item, slot) {
  // The address that a click on an image opens.
  const target = slot ? page.address("compare", { ...pairState(page.state), [slot]: item.id }) : page.address("search", { id: item.id });
  const name = shortPath(item.path);
  return el("li", { class: "card", "data-id": item.id },
    el("a", { href: target, class: "card-picture", title: slot ? "Pick this image" : "Search for similar images" }, thumbnailOf(item.id, name)),
    el("div", { class: "card-words" },
      el("span", { class: "path", title: item.path }, lastName(item.path)),
      el("span", { class: "card-links" },
        !hasLabel(item.label) ? null : el("a", { class: "tag", title: "Only images of this label",
                  href: page.address("gallery", { ...page.state, label: item.label ?? "", offset: undefined }) }, labelText(item.label)),
        slot ? null : el("button", { type: "button", class: "link", "aria-label": `Details of ${name}`,
                                     onclick: () => openItemPanel(page, item) }, "Details"))));
}

function addButton(page) {
  const input = el("input", { type: "file", accept: PHOTO_FILES, multiple: true, class: "hidden-file", "aria-label": "Add photos to the gallery",
                              onchange: () => { openAddPanel(page, [...input.files]); input.value = ""; } });
  return el("label", { class: "button primary" }, "Add photos", input);
}

export async function galleryView(page) {
  const { about, state } = page;
  const offset = Math.max(0, Number(state.offset) || 0);
  const slot = state.pick === "a" || state.pick === "b" ? state.pick : null;
  const canAdd = about.changes && about.photos && !slot;
  if (canAdd) {
    page.takeDrops("Drop photos to add them to the gallery", (files) => openAddPanel(page, files));
  } else if (slot && about.photos) {
    page.takeDrops("Drop a photo to compare it", (files) => takePhoto(files, (key) => {
      location.hash = page.address("compare", { ...pairState(state), [slot]: key });
    }, page.tell));
  }
  const fields = { offset, limit: PER_PAGE, ...(state.label !== undefined ? { label: state.label } : {}),
                   ...(state.path ? { path: state.path } : {}), ...whereOf(state) };
  const list = await api.items(fields, page.signal).catch((problem) => {
    page.tell(problem);
    return { total: 0, items: [] };
  });
  // The last images of the last page were deleted: the page before is the last one now.
  if (list.items.length === 0 && list.total > 0) {
    const before = PER_PAGE * (Math.ceil(list.total / PER_PAGE) - 1);
    page.note({ offset: before || undefined });
    return []; // the other address is drawn
  }
  const go = (changes) => page.go({ ...changes, offset: undefined });
  const labels = el("select", { name: "label", onchange: () => go({ label: labels.value === "*" ? undefined : labels.value }) },
    el("option", { value: "*" }, `all ${countOf(about.items, "image")}`),
    ...about.labels.map(({ label, count }) => el("option", { value: label ?? "", selected: String(label ?? "") === state.label },
                                                 `${labelText(label)} (${count})`)));
  const name = el("input", { type: "search", name: "path", value: state.path ?? "", placeholder: "part of a file name",
                             oninput: delayed(250, () => {
                               name.defaultValue = name.value; // acted on: going back does not keep it
                               go({ path: name.value.trim() || undefined });
                             }, page.signal) });
  const current = Math.floor(offset / PER_PAGE) + 1;
  const last = Math.ceil(list.total / PER_PAGE);
  const end = Math.min(offset + PER_PAGE, list.total);
  const filtered = state.label !== undefined || state.path || state.where;
  return [
    el("section", { class: "panel stack" },
      slot ? el("strong", { class: "picking" }, `Pick the ${slot === "a" ? "source" : "target"} of the comparison`) : null,
      el("div", { class: "row" },
        el("label", { class: "control" }, el("span", {}, "Show"), labels),
        el("label", { class: "control" }, el("span", {}, "Name"), name),
        filterBox(about, state, (edit) => page.go((now) => ({ ...edit(now), offset: undefined }))),
        canAdd ? addButton(page) : null)),
    el("p", { class: "summary", role: "status" }, list.total === 0
      ? (filtered ? "No image fits." : "This gallery is empty.")
      : `${offset + 1}–${end} of ${countOf(list.total, "image")}`),
    el("ul", { class: "cards" }, ...list.items.map((item) => cardOf(page, item, slot))),
    pageLinks(page, current, last),
  ].filter(Boolean);
}

function pairState({ a, b, marginals, lambda, mass, solver, prior, arrows, regions, weight, frames }) {
  return { a, b, marginals, lambda, mass, solver, prior, arrows, regions, weight, frames };
}

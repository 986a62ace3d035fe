// One image of the gallery: its photo, label and metadata; where writing is allowed, the label can be changed and the image deleted.

import * as api from "./api.js";
import { photoImage } from "./choose.js";
import { el, hasLabel, labelText, lastName } from "./elements.js";
import { wordsOf } from "./messages.js";

const wordsOfValue = (value) => (typeof value === "string" ? value : JSON.stringify(value));

export function openItemPanel(page, item) {
  let changed = false;
  const dialog = el("dialog", { class: "sheet item", "aria-labelledby": "item-title",
                                onclose: () => { dialog.remove(); if (changed) page.refresh(); } });
  const problemLine = el("p", { class: "note", role: "alert", hidden: true });
  const attempt = async (work) => {
    try {
      await work();
      changed = true;
      dialog.close();
    } catch (problem) {
      problemLine.textContent = wordsOf(problem);
      problemLine.hidden = false;
    }
  };
  const label = el("input", { type: "text", name: "label", value: hasLabel(item.label) ? String(item.label) : "", autocomplete: "off",
                              list: "item-labels", placeholder: "no label" });
  const save = (event) => {
    event.preventDefault();
    attempt(() => api.change(item.id, { label: label.value.trim() || null }));
  };
  // Deleting takes two clicks at two places.
  const sure = el("p", { class: "sure", hidden: true }, "Delete this image from the gallery? Its file stays where it is. ",
    el("button", { type: "button", class: "danger", onclick: () => attempt(() => api.remove(item.id)) }, "Yes, delete it"), " ",
    el("button", { type: "button", onclick: () => { sure.hidden = true; } }, "Keep it"));
  const details = Object.entries(item.metadata ?? {});
  dialog.append(...[
    el("h2", { id: "item-title" }, lastName(item.path)),
    photoImage(item.id, lastName(item.path)),
    el("p", { class: "path whole" }, item.path),
    page.about.changes
      ? el("form", { class: "field", onsubmit: save }, el("label", {}, el("span", {}, "Label"), label), el("button", { type: "submit" }, "Save"))
      : el("p", {}, labelText(item.label)),
    el("datalist", { id: "item-labels" }, ...page.about.labels.slice(0, 200).filter(({ label: one }) => hasLabel(one)).map(({ label: one }) => el("option", { value: one }))),
    details.length > 0 ? el("dl", { class: "metadata" }, ...details.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, wordsOfValue(value))])) : null,
    problemLine, sure,
    el("p", { class: "sheet-actions" },
      page.about.changes ? el("button", { type: "button", class: "danger-quiet", onclick: () => { sure.hidden = false; sure.querySelector("button").focus(); } }, "Delete") : null,
      el("a", { class: "button", href: page.address("search", { id: item.id }), onclick: () => dialog.close() }, "Search with it"),
      el("a", { class: "button", href: page.address("compare", { a: item.id }), onclick: () => dialog.close() }, "Compare"),
      el("button", { type: "button", class: "primary", onclick: () => dialog.close() }, "Close")),
  ].filter(Boolean));
  document.body.append(dialog);
  dialog.showModal();
}

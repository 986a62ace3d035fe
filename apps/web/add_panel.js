// Adding photos, many at once: each is sent on its own, so that one bad file stops no other.

import * as api from "./api.js";
import { countOf, el, labelText } from "./elements.js";
import { wordsOf } from "./messages.js";
import { imagesOf } from "./photos.js";

const AT_ONCE = 2;
const PREVIEWS = 12;

// Sends the files, two at a time. Returns those that were refused: { file, problem }.
async function sendAll(files, fields, signal, tell) {
  const refused = [];
  const queue = [...files];
  let done = 0;
  const work = async () => {
    for (let file = queue.shift(); file && !signal.aborted; file = queue.shift()) {
      try {
        await api.add(file, fields, signal);
      } catch (problem) {
        if (problem.name === "AbortError") return;
        refused.push({ file, problem });
      }
      tell(++done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { refused, added: done - refused.length };
}

export function openAddPanel(page, given) {
  const files = imagesOf(given);
  const others = given.length - files.length;
  const stop = new AbortController();
  const dialog = el("dialog", { class: "sheet", "aria-labelledby": "add-title",
                                onclose: () => { stop.abort(); dialog.remove(); if (changed) page.refresh(); } });
  let changed = false;
  const close = (text) => el("button", { type: "button", onclick: () => dialog.close() }, text);
  const previews = files.slice(0, PREVIEWS).map((file) => el("img", { alt: file.name, title: file.name, src: URL.createObjectURL(file) }));
  const more = files.length - previews.length;
  const label = el("input", { type: "text", name: "label", autocomplete: "off", list: "add-labels" });

  const finish = (added, refused) => {
    const twice = refused.filter(({ problem }) => problem.status === 409).map(({ file }) => file);
    dialog.replaceChildren(...[
      el("h2", { id: "add-title" }, `${countOf(added, "photo")} added`),
      refused.length > 0 ? el("p", {}, `${countOf(refused.length, "photo was", "photos were")} not added:`) : null,
      refused.length > 0 ? el("ul", { class: "refused" }, ...refused.slice(0, 100).map(({ file, problem }) =>
        el("li", {}, el("strong", {}, file.name), ` ${wordsOf(problem)}`))) : null,
      refused.length > 100 ? el("p", { class: "hint" }, `and ${refused.length - 100} more`) : null,
      el("p", { class: "sheet-actions" },
        twice.length > 0 ? el("button", { type: "button", onclick: () => send(twice, { duplicates: "replace" }) },
                              `Replace ${countOf(twice.length, "image")} of the same name`) : null,
        close("Done"))].filter(Boolean));
    dialog.querySelector(".sheet-actions button:last-child").focus();
  };

  const send = async (all, fields) => {
    const progress = el("progress", { max: all.length, value: 0, "aria-label": "Photos sent" });
    const words = el("p", { role: "status" }, `0 of ${all.length}`);
    dialog.replaceChildren(el("h2", { id: "add-title" }, `Adding ${countOf(all.length, "photo")}`), progress, words,
                           el("p", { class: "sheet-actions" }, close("Stop")));
    changed = true;
    const text = label.value.trim();
    const { refused, added } = await sendAll(all, { ...(text ? { label: text } : {}), ...fields }, stop.signal, (done) => {
      progress.value = done;
      words.textContent = `${done} of ${all.length}`;
    });
    if (!stop.signal.aborted) finish(added, refused);
  };

  dialog.append(...[
    el("h2", { id: "add-title" }, files.length === 0 ? "No photo among these files" : `Add ${countOf(files.length, "photo")} to the gallery?`),
    others > 0 ? el("p", { class: "hint" }, `${countOf(others, "file is", "files are")} left out: not a picture.`) : null,
    el("div", { class: "previews" }, ...previews, more > 0 ? el("span", { class: "hint" }, `and ${more} more`) : null),
    files.length > 0 ? el("label", { class: "field" }, el("span", {}, files.length === 1 ? "Label (optional)" : "Label (optional), for all of them"), label) : null,
    el("datalist", { id: "add-labels" }, ...page.about.labels.slice(0, 200).map(({ label: one }) => el("option", { value: one ?? "" }, labelText(one)))),
    el("p", { class: "sheet-actions" }, close("Cancel"),
      files.length > 0 ? el("button", { type: "button", class: "primary", onclick: () => send(files, {}) }, "Add") : null),
  ].filter(Boolean));
  document.body.append(dialog);
  dialog.showModal();
}

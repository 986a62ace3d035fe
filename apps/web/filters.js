// Conditions on items, as chips: label=pug, price<=20, name in a,b, note exists. The server reads and checks them.

import { countOf, el, hasLabel, labelText } from "./elements.js";

// In the address: one word, with a line break between conditions.
export const conditionsOf = (state) => (state.where ?? "").split("\n").filter((one) => one !== "");
const wordOf = (conditions) => conditions.join("\n") || undefined;

// The fields of a request: where, only if there are conditions.
export const whereOf = (state) => (conditionsOf(state).length > 0 ? { where: conditionsOf(state) } : {});

// A label that itself begins with a quote stands in quotes.
const valueOf = (label) => (String(label).startsWith('"') ? JSON.stringify(label) : label);
export const conditionOfLabel = (label) => (hasLabel(label) ? `label=${valueOf(label)}` : "label missing");

// change(edit) gets a function of the state to what is new in it: other conditions may have come meanwhile.
export function filterBox(about, state, change) {
  const now = conditionsOf(state);
  const other = (edit) => change((current) => ({ where: wordOf(edit(conditionsOf(current))) }));
  const input = el("input", { type: "text", name: "where", placeholder: "label=pug  or  price<=20", autocomplete: "off",
                              "aria-label": "Condition", list: "filter-labels" });
  const add = () => {
    const text = input.value.trim();
    if (text === "") return;
    input.value = "";
    other((all) => (all.includes(text) ? all : [...all, text]));
  };
  return el("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => { event.preventDefault(); add(); } },
    el("span", { class: "filters-title" }, "Only"),
    ...now.map((one) => el("span", { class: "chip" }, one,
      el("button", { type: "button", class: "chip-off", "aria-label": `Remove the filter ${one}`,
                     onclick: () => other((all) => all.filter((each) => each !== one)) }, "×"))),
    input,
    el("datalist", { id: "filter-labels" }, ...about.labels.slice(0, 200).map(({ label, count }) =>
      el("option", { value: conditionOfLabel(label) }, `${labelText(label)}, ${countOf(count, "image")}`))),
    el("button", { type: "submit" }, "Add filter"));
}

// Helpers that make elements. Text is inserted as text, never as markup.

// el("a", { href: "#/", class: "x", onclick: f }, "text", child, null)
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" && name === "input") element.defaultValue = value; // so that it can be told from what is typed
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// The name of a file with its last folder, which is often the class.
export function shortPath(path) {
  return path.split("/").slice(-2).join("/");
}

export const lastName = (path) => path.split("/").at(-1);

// A label is a word; null, "" and -1 mean none. A number says that it is a label.
export const hasLabel = (label) => label !== null && label !== undefined && label !== "" && !(Number(label) < 0);
export const labelText = (label) => (!hasLabel(label) ? "no label" : /^\d+$/.test(label) ? `label ${label}` : String(label));

// The rules of marginals that the server knows, for choosing: [value, text].
export const rules = (about) => about.marginals.map((rule) => [rule, rule.replaceAll("_", "-")]);

export const countOf = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

// Each call gets a signal that the next call aborts: only the last answer is used, and none after the view was left.
export function latest(left, action) {
  let under = null;
  left.addEventListener("abort", () => under?.abort());
  return (...words) => {
    under?.abort();
    under = new AbortController();
    return action(under.signal, ...words);
  };
}

// Not after the view was left: what is drawn in its place asks again.
export function delayed(milliseconds, action, left) {
  let timer = 0;
  left?.addEventListener("abort", () => clearTimeout(timer));
  return (...words) => {
    clearTimeout(timer);
    if (!left?.aborted) timer = setTimeout(() => action(...words), milliseconds);
  };
}

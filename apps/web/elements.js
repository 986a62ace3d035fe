// Elements from words. Text goes in as text, never as markup.

// el("a", { href: "#/", class: "x", onclick: f }, "text", child, null)
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// The name of a file, without the folders before it but one: that one is often the class.
export function shortPath(path) {
  return path.split("/").slice(-2).join("/");
}

export const labelText = (label) => (label < 0 ? "no label" : `label ${label}`);

// Each call gets a signal that the next one aborts: of several answers the last counts.
export function latest(action) {
  let under = null;
  return (...words) => {
    under?.abort();
    under = new AbortController();
    return action(under.signal, ...words);
  };
}

export function delayed(milliseconds, action) {
  let timer = 0;
  return (...words) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...words), milliseconds);
  };
}

// The page: three views, and an address for each state of each of them, #/compare?a=3&b=17&lambda=0.05

import * as api from "./api.js";
import { compareView } from "./compare_view.js";
import { galleryView } from "./gallery_view.js";
import { searchView } from "./search_view.js";

const views = { search: searchView, compare: compareView, gallery: galleryView };
const main = document.getElementById("main");
const error = document.getElementById("error");

export function addressOf(view, state) {
  const words = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== undefined &&
                                                                                 value !== null));
  return `#/${view}${words.size > 0 ? `?${words}` : ""}`;
}

function currentPlace() {
  const [view, words] = location.hash.replace(/^#\//, "").split("?");
  return { view: view in views ? view : "search", state: Object.fromEntries(new URLSearchParams(words ?? "")) };
}

function tell(problem) {
  if (problem?.name === "AbortError") return;
  error.textContent = problem ? problem.message : "";
  error.hidden = !problem;
}

let visit = 0;

async function show(about) {
  const { view, state } = currentPlace();
  const mine = ++visit;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view[0].toUpperCase()}${view.slice(1)} · ${about.name} · diml`;
  tell(null);
  const page = {
    about,
    state,
    address: addressOf,
    tell,
    // Another state of this view, as a step that "back" undoes.
    go: (changes) => { location.hash = addressOf(view, { ...state, ...changes }); },
    // The same without a step and without drawing anew: sliders.
    note: (changes) => {
      Object.assign(state, changes);
      history.replaceState(null, "", addressOf(view, state));
    },
  };
  try {
    const content = await views[view](page);
    if (mine !== visit) return;
    main.replaceChildren(...content);
    main.dataset.view = view;
  } catch (problem) {
    if (mine === visit) main.replaceChildren();
    tell(problem);
  }
}

async function start() {
  try {
    const about = await api.gallery();
    document.getElementById("about").textContent =
      `${about.name}: ${about.items} images, grids of ${about.rows} × ${about.cols} × ${about.dim}`;
    window.addEventListener("hashchange", () => show(about));
    await show(about);
  } catch (problem) {
    tell(problem);
  }
}

start();

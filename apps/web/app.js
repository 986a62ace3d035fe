// The page: three views; each state of a view has its own address, such as #/compare?a=3&b=17&lambda=0.05

import { openAddPanel } from "./add_panel.js";
import * as api from "./api.js";
import { compareView } from "./compare_view.js";
import { countOf } from "./elements.js";
import { galleryView } from "./gallery_view.js";
import { wordsOf } from "./messages.js";
import { searchView } from "./search_view.js";

const views = { search: searchView, compare: compareView, gallery: galleryView };
const main = document.getElementById("main");
const error = document.getElementById("error");
const busy = document.getElementById("busy");
const dropSign = document.getElementById("drop");

export function addressOf(view, state) {
  const words = new URLSearchParams(Object.entries(state).filter(([name, value]) => value !== undefined && value !== null &&
                                                                                    (value !== "" || name === "label")));
  return `#/${view}${words.size > 0 ? `?${words}` : ""}`;
}

function currentPlace() {
  const [view, words] = location.hash.replace(/^#\//, "").split("?");
  return { view: view in views ? view : "search", state: Object.fromEntries(new URLSearchParams(words ?? "")) };
}

function tell(problem) {
  if (problem?.name === "AbortError") return;
  error.textContent = problem ? wordsOf(problem) : "";
  error.hidden = !problem;
}

// Within 100 ms: the sign is there at once, and its style lets it appear after 80 ms, so that quick answers do not flicker.
api.onBusy((count) => {
  busy.hidden = count === 0;
  main.setAttribute("aria-busy", String(count > 0));
});

let visit = 0;
let drops = null;
let about = null;

// The field that has the focus. A view that is drawn anew replaces it: what is typed in it must not be lost.
function fieldInUse() {
  const field = document.activeElement;
  if (!main.contains(field) || !field.name) return null;
  const typed = field.matches("input[type=text], input[type=search]") && field.value !== field.defaultValue;
  return { field, value: typed ? field.value : null };
}

function resume({ field, value }) {
  const anew = main.querySelector(`[name="${CSS.escape(field.name)}"]`);
  if (!anew) return;
  if (value !== null) anew.value = value;
  anew.focus({ preventScroll: true });
  if (anew.matches("input[type=text], input[type=search]")) {
    anew.setSelectionRange(...(value !== null ? [field.selectionStart, field.selectionEnd] : [anew.value.length, anew.value.length]));
  }
}

async function show() {
  const { view, state } = currentPlace();
  const mine = ++visit;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view[0].toUpperCase()}${view.slice(1)} · ${about.name} · diml`;
  tell(null);
  drops = null;
  const page = {
    about,
    state,
    address: addressOf,
    tell,
    refresh,
    // Files that are dropped anywhere on the page.
    takeDrops: (words, take) => { if (mine === visit) drops = { words, take }; },
    // Another state of this view, with an entry in the browser's history. It begins with the address as it is now: what was
    // typed may come after the next state was drawn, and says nothing once another view is open.
    go: (changes) => {
      const now = currentPlace();
      if (now.view === view) location.hash = addressOf(view, { ...now.state, ...changes });
    },
    // The same without a history entry and without a redraw, for sliders.
    note: (changes) => {
      Object.assign(state, changes);
      history.replaceState(null, "", addressOf(view, state));
    },
  };
  try {
    const content = await views[view](page);
    if (mine !== visit) return;
    const inUse = main.dataset.view === view ? fieldInUse() : null;
    main.replaceChildren(...content);
    main.dataset.view = view;
    if (inUse) resume(inUse);
  } catch (problem) {
    if (mine === visit) main.replaceChildren();
    tell(problem);
  }
}

async function refresh() {
  about = await api.gallery();
  document.getElementById("about").textContent =
    `${about.name}: ${countOf(about.items, "image")}, grids of ${about.rows} × ${about.cols} × ${about.dim}`;
  await show();
}

// A photo may be dropped anywhere; the view says what happens to it. Several photos are added to the gallery.
function followDrops() {
  const hasFiles = (event) => [...event.dataTransfer?.types ?? []].includes("Files");
  const hide = () => { dropSign.hidden = true; };
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault(); // else the browser leaves the page for the photo
    if (!drops) return;
    dropSign.textContent = drops.words;
    dropSign.hidden = false;
  });
  document.addEventListener("dragleave", (event) => { if (event.relatedTarget === null) hide(); });
  document.addEventListener("dropped", hide);
  document.addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    hide();
    const files = [...event.dataTransfer.files];
    if (!drops) tell(new Error("Photos cannot be sent to this gallery: pick an image of it instead"));
    else if (files.length > 1 && about.changes) openAddPanel({ about, refresh }, files);
    else drops.take(files);
  });
}

async function start() {
  try {
    // Not by the address, which names the view.
    document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
    followDrops();
    await refresh();
    window.addEventListener("hashchange", show);
  } catch (problem) {
    tell(problem);
  }
}

start();

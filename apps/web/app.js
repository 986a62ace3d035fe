// The page: three views; each state of a view has its own address, such as #/compare?a=3&b=17&lambda=0.05

import { openAddPanel } from "./add_panel.js";
import * as api from "./api.js";
import { compareView } from "./compare_view.js";
import { countOf, delayed } from "./elements.js";
import { galleryView } from "./gallery_view.js";
import { wordsOf } from "./messages.js";
import { redraw } from "./redraw.js";
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
  if (count === 0) main.style.minHeight = "";
});

let visit = new AbortController(); // of the state that is shown; aborted when the next one begins
let drops = null;
let about = null;

let drawn = null; // the address of what is shown

// An entry of the browser's history knows how far down its reader was.
const keepPlace = delayed(100, () => { if (location.hash === drawn) history.replaceState({ down: scrollY }, ""); });

// Room for the place even where a view's answers are still to come; api.onBusy takes it back.
function goDown(down) {
  main.style.minHeight = busy.hidden ? "" : `${down + innerHeight}px`;
  scrollTo(0, down);
}

async function show() {
  const { view, state } = currentPlace();
  const address = location.hash;
  visit.abort();
  const mine = visit = new AbortController();
  const left = () => mine.signal.aborted;
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
    signal: mine.signal,
    address: addressOf,
    tell: (problem) => { if (!left()) tell(problem); },
    refresh,
    // Files that are dropped anywhere on the page.
    takeDrops: (words, take) => { if (!left()) drops = { words, take }; },
    // Another state of this view, with an entry in the browser's history: changes, or a function of the state to changes. The
    // state is that of the address as it is now: what was typed may come after the next state was drawn, and says nothing once
    // another view is open.
    go: (changes) => {
      const now = currentPlace();
      if (now.view !== view) return;
      location.hash = addressOf(view, { ...now.state, ...(typeof changes === "function" ? changes(now.state) : changes) });
    },
    // The same without a history entry and without a redraw, for sliders.
    note: (changes) => {
      const now = currentPlace();
      if (now.view !== view) return;
      Object.assign(state, changes);
      const settled = location.hash === drawn;
      history.replaceState(history.state, "", addressOf(view, { ...now.state, ...changes }));
      if (settled) drawn = location.hash;
    },
  };
  try {
    const content = await views[view](page);
    if (left()) return;
    // A slider of the state before was moved in the meantime.
    if (location.hash !== address) return show();
    const same = main.dataset.view === view && main.dataset.offset === (state.offset ?? "");
    const down = history.state?.down ?? (same ? scrollY : 0);
    redraw(main, content, main.dataset.view === view);
    Object.assign(main.dataset, { view, offset: state.offset ?? "" });
    drawn = address;
    goDown(down);
  } catch (problem) {
    if (left()) return;
    main.replaceChildren();
    tell(problem);
  }
}

let asked = 0;

// What the gallery is now, and the view of it. The last answer counts.
async function refresh() {
  const mine = ++asked;
  try {
    const now = await api.gallery();
    if (mine !== asked) return;
    about = now;
  } catch (problem) {
    tell(problem);
    return;
  }
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

// Not by the address, which names the view.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
followDrops();
history.scrollRestoration = "manual"; // the browser's would come before the view is drawn
addEventListener("scroll", keepPlace, { passive: true });
addEventListener("hashchange", () => { if (about) show(); }); // else the first view is still to come
refresh();

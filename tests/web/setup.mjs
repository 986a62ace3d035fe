// What all tests of the page share: one server and one browser, visits without complaints, and checks of access.

import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";

import { post, startServer, visitor } from "./page.mjs";

export const diml = process.argv[2];
export const at = { server: null, browser: null };

export const photo = () => {
  const folder = `critters/images/${readdirSync("critters/images").sort()[2]}`;
  return `${folder}/${readdirSync(folder).sort()[1]}`;
};
export const shot = (page, name) => page.screenshot({ path: `screenshots/${name}.png`, fullPage: true });
export const numbers = (locator) => locator.allTextContents().then((texts) => texts.map((text) => text.trim()));
export const four = (value) => value.toFixed(4);

export const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };
export const sizes = [["", {}], [" on a phone", phone]];

// In the page: what a reader of screens or a person with weak eyes would miss. Contrast as WCAG counts it.
export function faultsOfAccess() {
  const faults = [];
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".visually-hidden, svg, .rank, .busy");
  const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, k) => sum + part * [0.2126, 0.7152, 0.0722][k], 0);
  const parts = (color) => color.match(/[\d.]+/g).map(Number);
  const groundOf = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(parts(getComputedStyle(at).backgroundColor));
    return layers.reduce((under, [r, g, b, a = 1]) => [r, g, b].map((part, k) => part * a + under[k] * (1 - a)), [255, 255, 255]);
  };
  for (const element of document.body.querySelectorAll("*")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (text.length === 0 || !seen(element) || element.matches("option, script, noscript")) continue;
    if (text.some(({ data }) => /^(null|undefined|NaN|\[object \w+\])$/.test(data.trim()))) faults.push(`a value of the program: ${text[0].data}`);
    const [words, ground] = [light(parts(getComputedStyle(element).color)), light(groundOf(element))];
    const ratio = (Math.max(words, ground) + 0.05) / (Math.min(words, ground) + 0.05);
    if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)}: ${text[0].data.trim()}`);
  }
  const isField = (element) => element.matches("input, select, textarea");
  const named = (element) => element.getAttribute("aria-label") || element.labels?.length > 0 || element.getAttribute("title") ||
                             (!isField(element) && (element.textContent.trim() || element.querySelector("img[alt]:not([alt=''])")));
  for (const element of document.querySelectorAll("button, a, input, select, [tabindex='0'], dialog[open]")) {
    const by = element.getAttribute("aria-labelledby");
    if (by ? !document.getElementById(by)?.textContent.trim() : !named(element)) faults.push(`no name: ${element.outerHTML.slice(0, 80)}`);
  }
  // Fingers: 24 pixels (WCAG 2.5.8), except links within text.
  if (matchMedia("(pointer: coarse)").matches) {
    for (const element of document.querySelectorAll("button, a, select, summary, input:not([type=file])")) {
      if (!seen(element) || element.closest("p:not(.downloads), .skip")) continue;
      const { width, height } = (element.closest("label") ?? element).getBoundingClientRect();
      if (Math.min(width, height) < 23.5) faults.push(`${width} x ${height} pixels are too small for a finger: ${element.outerHTML.slice(0, 80)}`);
    }
  }
  if (!document.documentElement.lang || !document.title || document.querySelectorAll("main").length !== 1) faults.push("no language, title or main part");
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]));
  levels.forEach((level, k) => { if (level > (levels[k - 1] ?? 0) + 1) faults.push(`a heading ${level} after ${levels[k - 1] ?? "none"}`); });
  for (const image of document.querySelectorAll("img:not([alt])")) faults.push(`no alt: ${image.src}`);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  return faults;
}

// expected: parts of complaints that the test provokes.
export async function visit(settings, address, work, expected = []) {
  const one = await visitor(at.browser, at.server.address, settings);
  await one.page.goto(at.server.address + address);
  await work(one.page);
  assert.deepEqual(one.complaints.filter((line) => !expected.some((part) => line.includes(part))), []);
  await one.close();
}

// What people do works on both screens. work(page, look, size)
export function onBoth(name, address, work, expected = []) {
  for (const [size, look] of sizes) test(`${name}${size}`, () => visit(look, address, (page) => work(page, look, size), expected));
}

// Another server, with options of its own; work(page, address) with a visitor of it.
export async function withServer(options, environment, settings, work, expected = [], gallery = "gallery.diml") {
  const server = await startServer(diml, options, environment, gallery);
  const one = await visitor(at.browser, server.address, settings);
  try {
    await work(one.page, server.address);
    assert.deepEqual(one.complaints.filter((line) => !expected.some((part) => line.includes(part))), []);
  } finally {
    await one.close();
    assert.equal(await server.stop(), 0);
  }
}

// A visit to a copy of the gallery, which may be changed: a failure changes no other test. work(page, address of the server)
let copies = 0;
export async function visitOwnGallery(settings, address, work, expected = []) {
  const gallery = `own-${++copies}.diml`;
  cpSync("gallery.diml", gallery, { recursive: true });
  await withServer([], {}, settings, async (page, server) => {
    await page.goto(server + address);
    await work(page, server);
  }, expected, gallery);
  rmSync(gallery, { recursive: true });
}

export function onBothWithOwnGallery(name, address, work, expected = []) {
  for (const [size, look] of sizes) test(`${name}${size}`, () => visitOwnGallery(look, address, work, expected));
}

// The paths of a gallery's items that fit.
export async function pathsOf(address, fits = () => true) {
  const { items } = await (await fetch(`${address}v1/items?limit=1000`)).json();
  return items.filter(fits).map(({ path }) => path);
}

// Waits for these images, by their paths, in this order: a count may be that of the state before, too.
export const cards = (page, paths) => page.waitForFunction((wanted) =>
  JSON.stringify([...document.querySelectorAll(".card .path")].map((one) => one.title)) === wanted, JSON.stringify(paths));

// A pointer that rests where the drawing moved to points at a part of it, and the drawing shows that part.
export const away = (page) => page.mouse.move(0, 0);
export async function arrows(page) {
  await away(page);
  return page.locator(".match-arrow").count();
}

// Waits for the numbers of this request: its score, and its regions or strongest pairs of parts. The score alone may be that of the
// drawing before, as when the two are swapped.
export async function expectExplained(page, wanted) {
  const why = await post(at.server.address, "v1/explain", wanted);
  const cell = (index, cols) => `(${Math.floor(index / cols)},${index % cols})`;
  const pairs = why.pairs.map((pair) => [`${cell(pair.source, why.cols_source)} → ${cell(pair.target, why.cols_target)}`, four(pair.contribution)]);
  const cells = ({ length }) => `${length} cell${length === 1 ? "" : "s"}`;
  const regions = why.regions.map((region, k) => [`region ${k + 1}: ${cells(region.source)} → ${cells(region.target)}`, four(region.contribution)]);
  await page.waitForFunction(([score, pairs, regions]) => {
    if (document.querySelector(".score-row .number")?.textContent !== score || document.querySelector(".match-holder.waiting")) return false;
    const rows = [...document.querySelectorAll(".sum tbody tr")].map(({ cells }) => [cells[0].textContent, cells[2].textContent]);
    const all = rows[0]?.[0].startsWith("region") ? regions : pairs;
    return rows.length > 4 && JSON.stringify(rows.slice(0, -4)) === JSON.stringify(all.slice(0, rows.length - 4));
  }, [four(why.score), pairs, regions]);
  const measure = (name) => page.locator(`[data-measure=${name}] dd`).first().textContent();
  assert.deepEqual([await measure("cosine"), await measure("structural")], [four(why.cosine), four(why.score)]);
  assert.doesNotMatch(await page.locator(".match-view").textContent(), /→ structural/); // two measures, not before and after
  assert.equal(await page.locator(".cosine-row .number").textContent(), four(why.cosine));
  assert.equal(await page.locator(".total-row .number").textContent(), four(why.total));
  // The printed terms and the rest add up to the score, up to rounding.
  const rows = await numbers(page.locator(".sum tbody .number"));
  const sum = rows.slice(0, -3).reduce((all, text) => all + Number(text), 0);
  assert.ok(Math.abs(sum - why.score) < 1e-3, `${sum} is not ${why.score}`);
  return why;
}

// Files that are dropped on the page's head.
export const dropAnywhere = (page, files) => page.evaluate((all) => {
  const dataTransfer = new DataTransfer();
  for (const { name, type, bytes } of all) dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type }));
  document.querySelector("header").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}, files);
export const asDropped = (name) => ({ name, type: "image/jpeg", bytes: [...readFileSync(photo())] });

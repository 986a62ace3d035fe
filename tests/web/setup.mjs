// What all tests of the page share: one server and one browser, visits without complaints, and checks of access.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
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

// Another server, with options of its own; work(one, address) with a visitor of it.
export async function withServer(options, environment, settings, work, expected = []) {
  const server = await startServer(diml, options, environment);
  const one = await visitor(at.browser, server.address, settings);
  try {
    await work(one.page, server.address);
    assert.deepEqual(one.complaints.filter((line) => !expected.some((part) => line.includes(part))), []);
  } finally {
    await one.close();
    assert.equal(await server.stop(), 0);
  }
}

export async function expectExplained(page, wanted) {
  const why = await post(at.server.address, "v1/explain", wanted);
  await page.waitForFunction((score) => document.querySelector(".score-row .number")?.textContent === score, four(why.score));
  const measure = (name) => page.locator(`[data-measure=${name}] dd`).first().textContent();
  assert.deepEqual([await measure("cosine"), await measure("structural")], [four(why.cosine), four(why.score)]);
  assert.doesNotMatch(await page.locator(".match-view").textContent(), /→ structural/); // two measures, not before and after
  assert.equal(await page.locator(".cosine-row .number").textContent(), four(why.cosine));
  assert.equal(await page.locator(".total-row .number").textContent(), four(why.total));
  const rows = await numbers(page.locator(".sum tbody .number"));
  const terms = rows.slice(0, -4);
  assert.deepEqual(terms, why.pairs.slice(0, terms.length).map((pair) => four(pair.contribution)));
  // The printed terms and the rest add up to the score, up to rounding.
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

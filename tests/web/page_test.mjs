// The three views with real clicks; the numbers on the page are those of the server.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { post, startBrowser, startServer, visitor } from "./page.mjs";

const diml = process.argv[2];
let server, browser;

before(async () => {
  server = await startServer(diml);
  browser = await startBrowser();
});
after(async () => {
  await browser.close();
  assert.equal(await server.stop(), 0);
});

const photo = () => {
  const folder = `critters/images/${readdirSync("critters/images").sort()[2]}`;
  return `${folder}/${readdirSync(folder).sort()[1]}`;
};
const shot = (page, name) => page.screenshot({ path: `screenshots/${name}.png`, fullPage: true });
const numbers = (locator) => locator.allTextContents().then((texts) => texts.map((text) => text.trim()));
const four = (value) => value.toFixed(4);

const phone = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true };

// In the page: what a reader of screens or a person with weak eyes would miss. Contrast as WCAG counts it.
function faultsOfAccess() {
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
async function visit(settings, address, work, expected = []) {
  const one = await visitor(browser, server.address, settings);
  await one.page.goto(server.address + address);
  await work(one.page);
  assert.deepEqual(one.complaints.filter((line) => !expected.some((part) => line.includes(part))), []);
  await one.close();
}

// What people do most works on both screens.
for (const [size, look] of [["", {}], [" on a phone", phone]]) {
test(`from the gallery to a search to a comparison, by clicks${size}`, () => visit(look, "", async (page) => {
  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  await page.locator(".card img.thumb").first().waitFor();
  assert.equal(await page.locator(".card").count(), 60);
  await shot(page, size === "" ? "gallery" : "gallery-flow-phone");
  await page.locator("select[name=label]").selectOption("3");
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 8);
  assert.match(page.url(), /label=3/);
  assert.deepEqual([...new Set(await numbers(page.locator(".card .tag")))], ["label 3"]);
  const id = await page.locator(".card").nth(2).getAttribute("data-id");
  await page.locator(".card .card-picture").nth(2).click();

  await page.locator(".found .card").first().waitFor();
  const found = await post(server.address, "v1/search", { query: { id: Number(id) }, top: 12, rerank: 100 });
  const shown = await page.locator(".found .card").evaluateAll((cards) => cards.map((card) => card.dataset.id));
  assert.deepEqual(shown, found.hits.map((hit) => String(hit.id)));
  for (const name of ["global", "structural", "total"]) {
    assert.deepEqual(await numbers(page.locator(`.found [data-score=${name}]`)), found.hits.map((hit) => four(hit[name])));
  }
  const moves = found.hits.map((hit) => hit.first_rank - hit.rank)
    .map((up) => (up > 0 ? `▲ ${up}` : up < 0 ? `▼ ${-up}` : "="));
  assert.deepEqual((await numbers(page.locator(".found .move"))).map((text) => text.replace(/ was \d+$/, "")), moves);
  assert.ok(moves.some((move) => move !== "="), "re-ranking moved nothing: the test sees too little");
  await shot(page, size === "" ? "search" : "search-flow-phone");

  await page.locator(".found .card-picture").first().click();
  await page.locator(".match-drawing").waitFor();
  assert.match(page.url(), new RegExp(`a=${id}&b=${found.hits[0].id}`));
}));
}

test("a photo that is chosen is searched for", () => visit({}, "", async (page) => {
  await page.locator("input[type=file]").setInputFiles(photo());
  await page.locator(".found .card").first().waitFor();
  const answer = await fetch(`${server.address}v1/search?top=12`, {
    method: "POST", body: readFileSync(photo()), headers: { "Content-Type": "image/jpeg" } });
  const found = await answer.json();
  assert.deepEqual(await numbers(page.locator(".found [data-score=total]")), found.hits.map((hit) => four(hit.total)));
  assert.equal(found.hits[0].path.endsWith(photo()), true); // it is in the gallery, too
  await page.locator("input[name=top]").fill("5");
  await page.waitForFunction(() => document.querySelectorAll(".found .card").length === 5);
  assert.match(page.url(), /top=5/);
  await page.locator("input[name=rerank]").fill("0");
  await page.waitForFunction(() => [...document.querySelectorAll("[data-score=structural]")].every((e) => e.textContent === "–"));
  await shot(page, "search-photo");
}));

test("a photo that is dropped is searched for", () => visit({}, "", async (page) => {
  const bytes = [...readFileSync(photo())];
  const transfer = await page.evaluateHandle((content) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(content)], "dropped.jpg", { type: "image/jpeg" }));
    return data;
  }, bytes);
  await page.locator(".slot").dispatchEvent("drop", { dataTransfer: transfer });
  await page.locator(".found .card").first().waitFor();
  assert.equal(await page.locator(".slot .path").textContent(), "dropped.jpg");
}));

async function expectExplained(page, wanted) {
  const why = await post(server.address, "v1/explain", wanted);
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

test("the comparison shows the numbers of /v1/explain and follows its controls", () =>
  visit({}, "#/compare?a=3&b=11&arrows=6", async (page) => {
    const pair = { source: { id: 3 }, target: { id: 11 } };
    await expectExplained(page, pair);
    assert.equal(await page.locator(".match-arrow").count(), 6);
    await shot(page, "compare");
    await page.locator(".settings summary").click();

    await page.getByLabel("uniform").check();
    await expectExplained(page, { ...pair, marginals: "uniform" });
    await page.getByLabel("cross-correlation").check();
    await page.getByLabel("lambda").fill("230");
    const lambda = Number((await page.locator(".control output").textContent()));
    assert.ok(lambda > 0.15 && lambda < 0.25);
    const soft = await expectExplained(page, { ...pair, lambda });
    assert.match(page.url(), new RegExp(`lambda=${lambda}`));
    await page.getByLabel("exact").check();
    const exact = await expectExplained(page, { ...pair, solver: "exact" });
    assert.ok(exact.score > soft.score);

    await page.locator(".match-controls input[type=range]").fill("2");
    assert.equal(await page.locator(".match-arrow").count(), 2);
    assert.equal(await page.locator(".sum tbody tr").count(), 2 + 4);
    assert.match(page.url(), /arrows=2/);
  }));

test("a cell under the pointer shows where its mass goes", () => visit({}, "#/compare?a=3&b=11", async (page) => {
  const why = await expectExplained(page, { source: { id: 3 }, target: { id: 11 } });
  await page.locator(".match-grid").first().locator(".match-cell").nth(5).hover();
  const sum = why.plan[5].reduce((all, mass, j) => all + mass * why.similarity[5][j], 0);
  await page.waitForFunction((text) => document.querySelector(".match-words").textContent.includes(text), `adds ${four(sum)}`);
  const lit = await page.locator(".match-grid").nth(1).locator(".match-veil").evaluateAll((cells) =>
    cells.map((cell) => Number(cell.getAttribute("fill-opacity"))));
  assert.equal(lit.indexOf(Math.min(...lit)), why.plan[5].indexOf(Math.max(...why.plan[5])));
  await shot(page, "compare-cell");
}));

test("an address opens the same state, and back undoes", () => visit({}, "#/compare?a=5&b=9&marginals=uniform&lambda=0.1&arrows=3",
  async (page) => {
    await expectExplained(page, { source: { id: 5 }, target: { id: 9 }, marginals: "uniform", lambda: 0.1 });
    assert.equal(await page.getByLabel("uniform").isChecked(), true);
    assert.equal(await page.locator(".match-arrow").count(), 3);
    await page.getByRole("button", { name: "Swap the two" }).click();
    await expectExplained(page, { source: { id: 9 }, target: { id: 5 }, marginals: "uniform", lambda: 0.1 });
    await page.goBack();
    await expectExplained(page, { source: { id: 5 }, target: { id: 9 }, marginals: "uniform", lambda: 0.1 });
    await page.getByRole("link", { name: "From the gallery" }).nth(1).click();
    await page.locator(".card[data-id='7'] .card-picture").click();
    await expectExplained(page, { source: { id: 5 }, target: { id: 7 }, marginals: "uniform", lambda: 0.1 });
  }));

test("the drawing can be taken along as SVG, PNG and JSON", () => visit({}, "#/compare?a=1&b=2", async (page) => {
  const why = await expectExplained(page, { source: { id: 1 }, target: { id: 2 } });
  const file = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    assert.equal(download.suggestedFilename(), `001.Critter-critter_000002_to_001.Critter-critter_000003.${name.toLowerCase()}`);
    await download.saveAs(`screenshots/match.${name.toLowerCase()}`);
    return readFileSync(`screenshots/match.${name.toLowerCase()}`);
  };
  assert.deepEqual(JSON.parse(await file("JSON")),
                   { source: "001.Critter/critter_000002.jpg", target: "001.Critter/critter_000003.jpg", ...why });
  const svg = String(await file("SVG"));
  assert.match(svg, /^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  for (const words of [four(why.score), four(why.cosine), "critter_000002.jpg", "critter_000003.jpg", "weight of a part", "lambda 0.05"]) {
    assert.ok(svg.includes(words), `the drawing does not say ${words}`);
  }
  assert.equal(svg.match(/href="data:image\/jpeg;base64,/g).length, 2);
  const png = await file("PNG");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [2 * (860 + 32), png.readUInt32BE(20)]);
}));

test("everything is reached with the keyboard", () => visit({}, "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("href") ?? document.activeElement.getAttribute("name"));
  const seen = [];
  for (let k = 0; k < 12; ++k) {
    await page.keyboard.press("Tab");
    seen.push(await focused());
  }
  for (const wanted of ["#main", "#/search", "#/compare", "#/gallery", "label", "#/search?id=0"]) {
    assert.ok(seen.includes(wanted), `${wanted} is not among ${seen}`);
  }
  await page.locator(".card-picture").nth(4).focus();
  await page.keyboard.press("Enter");
  await page.locator(".found .card-picture").first().waitFor();
  await page.locator(".found .card-picture").first().focus();
  await page.keyboard.press("Enter");
  await page.locator(".match-drawing").waitFor();
  await page.locator(".match-grid").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  assert.match(await page.locator(".match-words").textContent(), /source \(1,1\)/);
  await page.locator(".settings summary").click();
  await page.getByLabel("lambda").focus();
  const before = await page.locator(".control output").textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await page.locator(".control output").textContent(), before);
}));

test("on a phone the photos are one above the other, with arrows between them", () =>
  visit(phone, "#/compare?a=17&b=20", async (page) => {
    await page.locator(".match-tall .match-arrow").first().waitFor();
    const [above, below] = await page.locator(".match-grid image").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.ok(below.top > above.bottom + 40, "they are not one above the other");
    assert.ok(above.width > 280, `${above.width} pixels are too small to see`);
    const [label] = await page.locator(".match-label").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.ok(label.top > above.bottom - 1 && label.bottom < below.top + 1);
  }));

test("the first view has regions, the share they cover and a scale; the slider shows pairs", () => visit({}, "#/compare?a=17&b=20", async (page) => {
  const why = await expectExplained(page, { source: { id: 17 }, target: { id: 20 } });
  assert.equal(await page.locator(".match-arrow").count(), why.regions.length);
  const of = (parts) => (100 * parts.reduce((sum, part) => sum + part.contribution, 0) / why.score).toFixed(0);
  const verdict = page.locator(".match-verdict");
  assert.match(await verdict.textContent(), new RegExp(`${why.regions.length} regions carry ${of(why.regions)} %`));
  assert.match(await page.locator(".match-scale").textContent(), /weight of a part.*0.*×/);
  assert.ok(await page.locator(".match-contour").first().getAttribute("d"));
  await page.locator(".match-controls input[type=range]").fill("6");
  assert.equal(await page.locator(".match-arrow").count(), 6);
  assert.match(await verdict.textContent(), new RegExp(`6 arrows carry ${of(why.pairs.slice(0, 6))} %`));
}));

test("weak evidence is said, and gets no bold arrow", () => visit({}, "", async (page) => {
  const kinds = await page.evaluate(async () => {
    const { drawMatch } = await import("./match_view.js");
    // 1 x 3 parts against 1 x 2.
    const shown = (similarity, plan) => {
      const score = plan.flat().reduce((sum, mass, k) => sum + mass * similarity.flat()[k], 0);
      const box = document.body.appendChild(document.createElement("div"));
      drawMatch(box, { similarity, plan, score, cosine: 0.5, rows_source: 1, cols_source: 3, rows_target: 1, cols_target: 2,
                       marginals: { source: [0.3, 0.3, 0.4], target: [0.6, 0.4] } }, { sourceImage: "icon.svg", targetImage: "icon.svg" });
      return [box.querySelector(".match-verdict").dataset.evidence, box.querySelectorAll(".match-frame").length > 0];
    };
    return [shown([[0.4, 0.41], [0.39, 0.4], [0.4, 0.4]], [[0.2, 0.1], [0.2, 0.1], [0.2, 0.2]]),
            shown([[0.9, 0.1], [0.8, 0.1], [0.1, 0.9]], [[0.3, 0], [0.3, 0], [0, 0.4]])];
  });
  assert.deepEqual(kinds, [["weak", false], ["clear", true]]);
}));

test("photos are added together, then changed and deleted", () => visit({}, "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  const bytes = readFileSync(photo());
  await page.getByLabel("Add photos to the gallery").setInputFiles(
    ["new-one.jpg", "new-two.jpg", "broken.jpg"].map((name, k) => ({ name, mimeType: "image/jpeg", buffer: k < 2 ? bytes : Buffer.from("no photo") })));
  await page.locator("dialog input[name=label]").fill("7777");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByText("2 photos added").waitFor();
  assert.match(await page.locator("dialog .refused").textContent(), /broken\.jpg The photo is not a/);
  await page.getByRole("button", { name: "Done" }).click();
  await page.waitForFunction(() => document.getElementById("about").textContent.includes("98 images"));
  await page.locator("select[name=label]").selectOption("7777");
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 2);
  await page.getByRole("button", { name: "Details of new-one.jpg" }).click();
  await page.locator("dialog input[name=label]").fill("pug");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("dialog.sheet").waitFor({ state: "detached" });
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 1); // the other one is still 7777
  await page.locator("select[name=label]").selectOption("pug");
  await page.locator('.card .path[title="new-one.jpg"]').waitFor();
  assert.deepEqual(await numbers(page.locator(".card .tag")), ["pug"]);
  const { items } = await (await fetch(`${server.address}v1/items?label=pug`)).json();
  assert.deepEqual(items.map(({ path, label }) => [path, label]), [["new-one.jpg", "pug"]]);
  await page.getByRole("button", { name: "Details of new-one.jpg" }).click();
  await page.locator("dialog input[name=label]").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("dialog.sheet").waitFor({ state: "detached" });
  await page.locator("select[name=label]").selectOption(""); // without a label
  await page.locator('.card .path[title="new-one.jpg"]').waitFor();
  assert.equal(await page.locator(".card").count(), 1);
  await page.locator("select[name=label]").selectOption("*");
  await page.locator("input[name=path]").fill("NEW-");
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 2);
  for (const name of ["new-one.jpg", "new-two.jpg"]) {
    await page.getByRole("button", { name: `Details of ${name}` }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Yes, delete it" }).click();
    await page.locator(`.card .path[title="${name}"]`).waitFor({ state: "detached" });
  }
  await page.waitForFunction(() => document.getElementById("about").textContent.includes("96 images"));
}, ["415"]));

// Files that are dropped on the page's head.
const dropAnywhere = (page, files) => page.evaluate((all) => {
  const dataTransfer = new DataTransfer();
  for (const { name, type, bytes } of all) dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type }));
  document.querySelector("header").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
}, files);
const asDropped = (name) => ({ name, type: "image/jpeg", bytes: [...readFileSync(photo())] });

test("several photos that are dropped, on any view, are offered to the gallery", () => visit({}, "#/compare", async (page) => {
  await page.locator(".slot").first().waitFor();
  await dropAnywhere(page, [asDropped("one.jpg"), asDropped("two.jpg"), { name: "notes.txt", type: "text/plain", bytes: [65] }]);
  await page.getByRole("heading", { name: "Add 2 photos to the gallery?" }).waitFor();
  assert.match(await page.locator("dialog.sheet").textContent(), /1 file is left out: not a picture/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("dialog.sheet").waitFor({ state: "detached" });
  await dropAnywhere(page, [{ name: "notes.txt", type: "text/plain", bytes: [65] }]);
  await page.getByText("This file is not a picture.").waitFor();
}));

test("hits can be taken along as a table and as JSON", () => visit({}, "#/search?id=17&top=5", async (page) => {
  const file = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
    await download.saveAs(`screenshots/${download.suggestedFilename()}`);
    return [download.suggestedFilename(), readFileSync(`screenshots/${download.suggestedFilename()}`, "utf8")];
  };
  await page.locator(".found .card").first().waitFor();
  const { hits } = await post(server.address, "v1/search", { query: { id: 17 }, top: 5 });
  const [table, text] = await file("CSV");
  assert.equal(table, "hits_003.Critter-critter_000018.csv");
  const [head, ...rows] = text.trim().split("\r\n");
  assert.equal(head, "query,rank,first_rank,id,path,label,global,structural,total");
  assert.deepEqual(rows, hits.map((hit) => ["003.Critter/critter_000018.jpg", hit.rank, hit.first_rank, hit.id, hit.path, hit.label,
                                            hit.global, hit.structural, hit.total].join(",")));
  const [name, json] = await file("JSON");
  assert.equal(name, "hits_003.Critter-critter_000018.json");
  assert.deepEqual(JSON.parse(json).hits, hits);
}));

test("pages have numbers; names and conditions narrow the gallery and the search", () => visit({}, "#/gallery", async (page) => {
  await page.getByRole("link", { name: "Page 2" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 36);
  assert.equal(await page.locator(".pages [aria-current=page]").textContent(), "2");
  const shown = (count) => page.waitForFunction((wanted) => document.querySelectorAll(".card").length === wanted, count);
  await page.locator("input[name=path]").fill("CRITTER_00001");
  await page.waitForFunction(() => location.hash.includes("path=CRITTER_00001"));
  await shown(10); // 10 to 19
  assert.equal(await page.evaluate(() => document.activeElement.name), "path");
  const condition = async (text) => {
    await page.locator("input[name=where]").fill(text);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: `Remove the filter ${text}` }).waitFor();
  };
  await condition("label in 1,5");
  const { items } = await (await fetch(`${server.address}v1/items?limit=1000`)).json();
  const wanted = items.filter(({ path, label }) => /critter_00001/.test(path) && ["1", "5"].includes(label)).map(({ id }) => String(id));
  assert.ok(wanted.length > 0 && wanted.length < 10);
  await shown(wanted.length);
  assert.deepEqual(await page.locator(".card").evaluateAll((cards) => cards.map((card) => card.dataset.id)), wanted);
  await condition("price<=20");
  await page.getByText("No image fits.").waitFor();
  await page.getByRole("button", { name: "Remove the filter price<=20" }).click();
  await shown(wanted.length);

  await page.goto(`${server.address}#/search?id=17`);
  await page.locator(".found .card").first().waitFor();
  await condition("label in 1,5");
  const found = await post(server.address, "v1/search", { query: { id: 17 }, top: 12, where: ["label in 1,5"] });
  assert.equal(found.items, 16);
  await page.waitForFunction((ids) => JSON.stringify([...document.querySelectorAll(".found .card")].map((card) => card.dataset.id)) === ids,
                             JSON.stringify(found.hits.map(({ id }) => String(id))));
  assert.match(await page.locator(".summary").textContent(), /among 16 images, only label in 1,5/);
}));

test("what is typed while the gallery is drawn anew counts, and nothing comes back after it was left", () => visit({}, "#/gallery?label=1", async (page) => {
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 8);
  await page.evaluate(() => {
    const [labels, name] = [document.querySelector("select[name=label]"), document.querySelector("input[name=path]")];
    labels.value = "5";
    labels.dispatchEvent(new Event("change"));
    name.value = "critter_00004";
    name.dispatchEvent(new Event("input"));
  });
  await page.waitForFunction(() => location.hash.includes("path=critter_00004"));
  assert.match(page.url(), /label=5/);
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 8); // 41 to 48 of label 5

  // A field that is being typed in keeps focus and words when another change draws the view anew.
  await page.locator("input[name=path]").pressSequentially("4");
  await page.evaluate(() => {
    const labels = document.querySelector("select[name=label]");
    labels.dataset.old = "";
    labels.value = "1";
    labels.dispatchEvent(new Event("change"));
  });
  await page.locator("[data-old]").waitFor({ state: "detached" });
  await page.keyboard.insertText("1");
  await page.waitForFunction(() => location.hash.includes("critter_0000441"));
  await page.getByText("No image fits.").waitFor();
  assert.deepEqual(await page.evaluate(() => [document.activeElement.name, document.activeElement.value]), ["path", "critter_0000441"]);
  // Going back shows what was before, not what was typed.
  await page.goBack();
  await page.waitForFunction(() => {
    const path = new URLSearchParams(location.hash.split("?")[1]).get("path");
    return path !== "critter_0000441" && document.querySelector("input[name=path]").value === path;
  });

  await page.evaluate(() => {
    const name = document.querySelector("input[name=path]");
    name.value = "other";
    name.dispatchEvent(new Event("input"));
  });
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await page.getByText("Choose two pictures").waitFor();
  await page.waitForTimeout(400);
  assert.match(page.url(), /#\/compare$/);
}));

test("a condition that is not understood is answered in one line", () => visit({}, "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  await page.locator("input[name=where]").fill("nonsense");
  await page.keyboard.press("Enter");
  await page.locator("#error:not([hidden])").waitFor();
  assert.match(await page.locator("#error").textContent(), /nonsense.* is not understood/);
}, ["400"]));

test("a dropped photo survives a reload, and drops are taken anywhere", () => visit({}, "", async (page) => {
  await page.locator(".welcome").waitFor();
  await dropAnywhere(page, [asDropped("anywhere.jpg")]);
  await page.locator(".found .card").first().waitFor();
  const before = await numbers(page.locator(".found [data-score=total]"));
  await page.reload();
  await page.locator(".found .card").first().waitFor();
  assert.equal(await page.locator(".slot .path").textContent(), "anywhere.jpg");
  assert.deepEqual(await numbers(page.locator(".found [data-score=total]")), before);

  await page.goto(`${server.address}#/compare?a=17&arrows=3`);
  await page.getByText("Choose two pictures").waitFor();
  await dropAnywhere(page, [asDropped("target.jpg")]);
  await page.locator(".score-row").waitFor();
  const score = await page.locator(".score-row .number").textContent();
  await page.reload();
  await page.locator(".score-row").waitFor();
  assert.equal(await page.locator(".score-row .number").textContent(), score);
  assert.deepEqual(await numbers(page.locator(".slot .path")), ["003.Critter/critter_000018.jpg", "target.jpg"]);
  assert.equal(await page.locator(".match-arrow").count(), 3);
}));

test("a sign shows within 100 ms that an answer is awaited", () => visit({}, "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  await page.locator("#busy").waitFor({ state: "hidden" });
  let answer;
  await page.route("**/v1/search", (route) => { answer = () => route.continue(); });
  // The sign is there when the request leaves, and its style lets it appear in less than the rest of the time.
  await page.evaluate(() => {
    const ask = window.fetch;
    window.fetch = (...words) => {
      const sign = document.getElementById("busy");
      const appears = sign.hidden ? [] : sign.getAnimations().filter((one) => one.animationName === "appear");
      if (String(words[0]).includes("search")) window.signTimes = appears.map((one) => one.effect.getComputedTiming().endTime);
      return ask(...words);
    };
  });
  await page.locator(".card-picture").first().click();
  await page.locator("#busy").waitFor({ state: "visible" });
  while (!answer) await page.waitForTimeout(10);
  assert.deepEqual(await page.evaluate(() => window.signTimes.map((time) => time <= 100)), [true]);
  await page.waitForFunction(() => getComputedStyle(document.getElementById("busy")).opacity === "1");
  answer();
  await page.locator(".found .card").first().waitFor();
  await page.locator("#busy").waitFor({ state: "hidden" });
}));

const looks = { "desktop": {}, "phone": phone, "dark": { colorScheme: "dark" }, "phone-dark": { ...phone, colorScheme: "dark" } };
for (const [name, settings] of Object.entries(looks)) {
  test(`it can be read on a ${name} screen`, async () => {
    const details = async (page) => {
      await page.getByRole("button", { name: /^Details of/ }).first().click();
      await page.locator("dialog.sheet img").waitFor();
    };
    const add = async (page) => {
      await page.getByLabel("Add photos to the gallery").setInputFiles(photo());
      await page.getByRole("button", { name: "Add", exact: true }).waitFor();
    };
    for (const [view, address, there, then] of [["welcome", "#/search", ".welcome"],
                                                ["search", "#/search?id=17&where=label<9", ".found .card"],
                                                ["compare", "#/compare?a=17&b=20&lambda=0.05", ".score-row"],
                                                ["gallery", "#/gallery?label=3", ".card"],
                                                ["details", "#/gallery", ".card", details],
                                                ["add", "#/gallery", ".card", add]]) {
      await visit(settings, address, async (page) => {
        await page.locator(there).first().waitFor();
        await then?.(page);
        await page.waitForLoadState("networkidle");
        // Before the screenshot: one of a full page ends the emulation of fingers.
        assert.deepEqual((await page.evaluate(faultsOfAccess)).slice(0, 10), [], view);
        await (then ? page.screenshot({ path: `screenshots/${view}-${name}.png` }) : shot(page, `${view}-${name}`));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        const window = settings.viewport?.width ?? 1280;
        assert.ok(wide <= window, `${view} is ${wide} pixels wide in a window of ${window}`);
      });
    }
  });
}

for (const [name, settings] of Object.entries(looks)) {
  test(`pages that are files can be read on a ${name} screen`, async () => {
    for (const [file, shown] of [["why", ".match-arrow"], ["queries", ".match-arrow"], ["hits", "li img"]]) {
      const one = await visitor(browser, "file://", settings);
      await one.page.goto(`file://${process.cwd()}/${file}.html`);
      if (file === "queries") await one.page.locator("summary").first().click();
      const view = file === "queries" ? one.page.frameLocator("iframe").first() : one.page;
      await view.locator(shown).first().waitFor();
      for (const frame of one.page.frames().filter((each) => file !== "queries" || each !== one.page.mainFrame())) {
        const [wide, window] = await frame.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= window, `${file}.html is ${wide} pixels wide in ${window}`);
      }
      assert.deepEqual((await one.page.evaluate(faultsOfAccess)).slice(0, 10), [], file);
      await one.page.screenshot({ path: `screenshots/${file}-${name}.png`, fullPage: true });
      assert.deepEqual(one.complaints, []);
      await one.close();
    }
  });
}

test("what is not there is said in one line", async () => {
  const one = await visitor(browser, server.address);
  await one.page.goto(`${server.address}#/search?id=99999`);
  await one.page.locator("#error:not([hidden])").waitFor();
  assert.match(await one.page.locator("#error").textContent(), /^Image 99999 is not in this gallery/);
  await one.close();
});

test("with a token the page asks for it once, and shows pictures", async () => {
  const guarded = await startServer(diml, [], { DIML_TOKEN: "sesame" });
  const one = await visitor(browser, guarded.address);
  await one.page.goto(`${guarded.address}#/gallery`);
  await one.page.locator("#token input").fill("sesame");
  await one.page.keyboard.press("Enter");
  await one.page.waitForFunction(() => [...document.querySelectorAll(".card img")].some((image) => image.naturalWidth > 0));
  assert.deepEqual(one.complaints.filter((line) => !line.includes("401")), []);
  await one.close();
  assert.equal(await guarded.stop(), 0);
});

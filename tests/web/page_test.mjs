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

async function visit(settings, address, work) {
  const one = await visitor(browser, server.address, settings);
  await one.page.goto(server.address + address);
  await work(one.page);
  assert.deepEqual(one.complaints, []);
  await one.close();
}

test("from the gallery to a search to a comparison, by clicks", () => visit({}, "", async (page) => {
  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  await page.locator(".card img.thumb").first().waitFor();
  assert.equal(await page.locator(".card").count(), 60);
  await shot(page, "gallery");
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
  await shot(page, "search");

  await page.locator(".found .card-picture").first().click();
  await page.locator(".match-drawing").waitFor();
  assert.match(page.url(), new RegExp(`a=${id}&b=${found.hits[0].id}`));
}));

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
  assert.equal(await page.locator(".match-scores").textContent(),
               `cosine similarity ${four(why.cosine)} → structural similarity ${four(why.score)}`);
  assert.equal(await page.locator(".cosine-row .number").textContent(), four(why.cosine));
  assert.equal(await page.locator(".total-row .number").textContent(), four(why.total));
  const rows = await numbers(page.locator(".sum tbody .number"));
  const terms = rows.slice(0, -4);
  assert.deepEqual(terms, why.pairs.slice(0, terms.length).map((pair) => four(pair.contribution)));
  // What is written out adds up: terms and the rest are the score, to rounding.
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
  const lit = await page.locator(".match-grid").nth(1).locator(".match-flow").evaluateAll((cells) =>
    cells.map((cell) => Number(cell.getAttribute("fill-opacity"))));
  assert.equal(lit.indexOf(Math.max(...lit)), why.plan[5].indexOf(Math.max(...why.plan[5])));
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
    await download.saveAs(`screenshots/match.${name.toLowerCase()}`);
    return readFileSync(`screenshots/match.${name.toLowerCase()}`);
  };
  assert.deepEqual(JSON.parse(await file("JSON")), why);
  const svg = String(await file("SVG"));
  assert.match(svg, /^<svg[^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.equal(svg.match(/href="data:image\/jpeg;base64,/g).length, 2);
  const png = await file("PNG");
  assert.equal(png.subarray(1, 4).toString(), "PNG");
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1600, 600]);
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
  await page.getByLabel("lambda").focus();
  const before = await page.locator(".control output").textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await page.locator(".control output").textContent(), before);
}));

const looks = {
  "phone": { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true },
  "dark": { colorScheme: "dark" },
  "phone-dark": { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true, colorScheme: "dark" },
};
for (const [name, settings] of Object.entries(looks)) {
  test(`it can be read on a ${name} screen`, async () => {
    for (const [view, address, there] of [["search", "#/search?id=17", ".found .card"],
                                          ["compare", "#/compare?a=17&b=20", ".score-row"],
                                          ["gallery", "#/gallery", ".card"]]) {
      await visit(settings, address, async (page) => {
        await page.locator(there).first().waitFor();
        await page.waitForLoadState("networkidle");
        await shot(page, `${view}-${name}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        const window = settings.viewport?.width ?? 1280;
        assert.ok(wide <= window, `${view} is ${wide} pixels wide in a window of ${window}`);
        // The ratio of WCAG, of text and what is behind it.
        const ratio = await page.evaluate(() => {
          const light = (color) => {
            const [r, g, b] = color.match(/[\d.]+/g).map((part) => Number(part) / 255)
              .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const words = light(getComputedStyle(document.querySelector(".about")).color);
          const ground = light(getComputedStyle(document.querySelector("header")).backgroundColor);
          return (Math.max(words, ground) + 0.05) / (Math.min(words, ground) + 0.05);
        });
        assert.ok(ratio > 4.5, `contrast ${ratio}`);
      });
    }
  });
}

test("what is not there is said in one line", async () => {
  const one = await visitor(browser, server.address);
  await one.page.goto(`${server.address}#/search?id=99999`);
  await one.page.locator("#error:not([hidden])").waitFor();
  assert.match(await one.page.locator("#error").textContent(), /there is no item 99999/);
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

// Comparing: the numbers are those of the server, and the view is what its reader chose.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { post } from "./page.mjs";
import { arrows, at, away, expectExplained, four, numbers, onBoth, phone, shot, visit } from "./setup.mjs";

onBoth("the comparison shows the numbers of /v1/explain and follows its controls", "#/compare?a=3&b=11&arrows=6", async (page, look, size) => {
  const pair = { source: { id: 3 }, target: { id: 11 } };
  await expectExplained(page, pair);
  assert.equal(await arrows(page), 6);
  await shot(page, `compare${size}`);
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
  assert.equal(await arrows(page), 2);
  assert.equal(await page.locator(".sum tbody tr").count(), 2 + 4);
  assert.match(page.url(), /arrows=2/);
});

onBoth("a cell under the pointer, or tapped, shows where its mass goes", "#/compare?a=3&b=11", async (page, look, size) => {
  const why = await expectExplained(page, { source: { id: 3 }, target: { id: 11 } });
  const cell = page.locator(".match-grid").first().locator(".match-cell").nth(5);
  await (look.hasTouch ? cell.tap() : cell.hover());
  const sum = why.plan[5].reduce((all, mass, j) => all + mass * why.similarity[5][j], 0);
  await page.waitForFunction((text) => document.querySelector(".match-words").textContent.includes(text), `adds ${four(sum)}`);
  const lit = await page.locator(".match-grid").nth(1).locator(".match-veil").evaluateAll((cells) =>
    cells.map((cell) => Number(cell.getAttribute("fill-opacity"))));
  assert.equal(lit.indexOf(Math.min(...lit)), why.plan[5].indexOf(Math.max(...why.plan[5])));
  await shot(page, `compare-cell${size}`);
});

onBoth("an address opens the same state, and back undoes", "#/compare?a=5&b=9&marginals=uniform&lambda=0.1&arrows=3", async (page) => {
  await expectExplained(page, { source: { id: 5 }, target: { id: 9 }, marginals: "uniform", lambda: 0.1 });
  assert.equal(await page.getByLabel("uniform").isChecked(), true);
  assert.equal(await arrows(page), 3);
  await page.getByRole("button", { name: "Swap the two" }).click();
  await expectExplained(page, { source: { id: 9 }, target: { id: 5 }, marginals: "uniform", lambda: 0.1 });
  await page.goBack();
  await expectExplained(page, { source: { id: 5 }, target: { id: 9 }, marginals: "uniform", lambda: 0.1 });
  await page.getByRole("link", { name: "From the gallery" }).nth(1).click();
  await page.locator(".card[data-id='7'] .card-picture").click();
  await expectExplained(page, { source: { id: 5 }, target: { id: 7 }, marginals: "uniform", lambda: 0.1 });
});

onBoth("what was chosen in a comparison stays when a control changes, and after a reload", "#/compare?a=17&b=20", async (page) => {
  const pair = { source: { id: 17 }, target: { id: 20 } };
  await expectExplained(page, pair);
  const seen = () => page.evaluate(() => ({
    arrows: document.querySelector(".match-controls input[type=range]").value,
    boxes: [...document.querySelectorAll(".match-controls input[type=checkbox]")].map((box) => box.checked),
    frames: !document.querySelector(".match-drawing").classList.contains("match-without-frames"),
    pinned: [...document.querySelectorAll(".match-grid")].map((grid) =>
      [...grid.querySelectorAll(".match-cell")].findIndex((cell) => cell.classList.contains("match-chosen"))),
  }));
  const stays = async (wanted, how) => {
    await away(page);
    assert.deepEqual(await seen(), wanted);
    await page.evaluate(() => { document.querySelector(".match-view").dataset.old = ""; });
    await how();
    await page.locator(".match-view:not([data-old]) .match-arrow").first().waitFor();
    assert.deepEqual(await seen(), wanted);
  };
  const reload = () => page.reload();
  await page.locator(".settings summary").click();
  const lambda = (step) => () => page.getByLabel("lambda").fill(step);
  // Pairs instead of regions, without frames and without weights.
  await page.getByLabel("regions").uncheck();
  await page.getByLabel("cell frames").uncheck();
  await page.getByLabel("weight of each part").uncheck();
  await stays({ arrows: "6", boxes: [false, false, false], frames: false, pinned: [-1, -1] }, lambda("150"));
  await stays({ arrows: "6", boxes: [false, false, false], frames: false, pinned: [-1, -1] }, reload);
  // Regions again, with another number of arrows behind them, and a cell of the target.
  await page.locator(".match-controls input[type=range]").fill("3");
  await page.getByLabel("regions").check();
  await page.getByLabel("cell frames").check();
  await page.locator(".match-grid").nth(1).locator(".match-cell").nth(6).click();
  await stays({ arrows: "3", boxes: [true, false, true], frames: true, pinned: [-1, 6] }, lambda("180"));
  await stays({ arrows: "3", boxes: [true, false, true], frames: true, pinned: [-1, 6] }, reload);
  await page.getByRole("button", { name: "Swap the two" }).click();
  await page.waitForFunction(() => location.hash.includes("a=20&b=17"));
  await page.locator(".match-grid").first().locator(".match-chosen").waitFor();
  assert.deepEqual((await seen()).pinned, [6, -1]);
  // Another picture has other parts.
  await page.getByRole("link", { name: "From the gallery" }).nth(1).click();
  await page.locator(".card[data-id='30'] .card-picture").click();
  await page.waitForFunction(() => location.hash.includes("b=30"));
  await page.locator(".match-arrow").first().waitFor();
  assert.deepEqual(await seen(), { arrows: "3", boxes: [true, false, true], frames: true, pinned: [-1, -1] });
});

onBoth("a share of the mass can be matched", "#/compare?a=17&b=20", async (page) => {
  const whole = await expectExplained(page, { source: { id: 17 }, target: { id: 20 } });
  await page.locator(".settings summary").click();
  await page.locator(".match-view").evaluate((view) => { view.dataset.old = ""; });
  await page.getByLabel("mass").fill("50");
  await page.locator(".match-view:not([data-old]) .match-arrow").first().waitFor();
  await page.waitForFunction(() => location.hash.includes("mass=0.5"));
  const text = await page.locator(".sum").innerText();
  assert.match(text, /50 % of the mass is transported/);
  const half = Number(text.match(/structural similarity\s+the sum\s+([\d.]+)/)[1]);
  assert.ok(half < 0.5 && half < whole.score, `${half} of ${whole.score}`);
});

onBoth("the drawing can be taken along as SVG, PNG and JSON", "#/compare?a=1&b=2", async (page, look) => {
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
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [2 * ((look.hasTouch ? 340 : 860) + 32), png.readUInt32BE(20)]);
});

test("on a phone the photos are one above the other, with arrows between them", () =>
  visit(phone, "#/compare?a=17&b=20", async (page) => {
    await page.locator(".match-tall .match-arrow").first().waitFor();
    const [above, below] = await page.locator(".match-grid image").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.ok(below.top > above.bottom + 40, "they are not one above the other");
    assert.ok(above.width > 280, `${above.width} pixels are too small to see`);
    const [label] = await page.locator(".match-label").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.ok(label.top > above.bottom - 1 && label.bottom < below.top + 1);
  }));

onBoth("the first view has regions, the share they cover and a scale; the slider shows pairs", "#/compare?a=17&b=20", async (page) => {
  const why = await expectExplained(page, { source: { id: 17 }, target: { id: 20 } });
  assert.equal(await arrows(page), why.regions.length);
  const of = (parts) => (100 * parts.reduce((sum, part) => sum + part.contribution, 0) / why.score).toFixed(0);
  const verdict = page.locator(".match-verdict");
  assert.match(await verdict.textContent(), new RegExp(`${why.regions.length} regions carry ${of(why.regions)} %`));
  assert.match(await page.locator(".match-scale").textContent(), /weight of a part.*0.*×/);
  assert.ok(await page.locator(".match-contour").first().getAttribute("d"));
  await page.locator(".match-controls input[type=range]").fill("6");
  assert.equal(await arrows(page), 6);
  assert.match(await verdict.textContent(), new RegExp(`6 arrows carry ${of(why.pairs.slice(0, 6))} %`));
});

onBoth("no frame of a region hides another", "#/compare?a=17&b=20", async (page) => {
  await page.locator(".match-frame").first().waitFor();
  await away(page);
  // Frames come in turn, one in the source and one in the target.
  const frames = await page.locator(".match-frame").evaluateAll((all) => all.map((one) => one.getAttribute("d").match(/M[^M]+/g)));
  assert.ok(frames.length >= 6, `${frames.length} frames: the test sees too little`);
  for (const side of [0, 1]) {
    const lines = frames.filter((_, k) => k % 2 === side).flat();
    assert.deepEqual(lines.filter((line, k) => lines.indexOf(line) !== k), []);
  }
});

onBoth("cell frames and weights are drawn where they are wanted", "#/compare?a=17&b=20", async (page) => {
  await page.locator(".match-arrow").first().waitFor();
  const frame = () => page.locator(".match-cell").first().evaluate((cell) => Number(getComputedStyle(cell).strokeOpacity) > 0);
  const veiled = () => page.locator(".match-veil").evaluateAll((all) => all.some((one) => Number(one.getAttribute("fill-opacity")) > 0));
  assert.equal(await frame(), true);
  assert.equal(await veiled(), true);
  await page.getByLabel("cell frames").uncheck();
  assert.equal(await frame(), false);
  await page.getByLabel("weight of each part").uncheck();
  assert.equal(await veiled(), false);
  await page.getByLabel("cell frames").check();
  assert.equal(await frame(), true);
});

onBoth("weak evidence is said, and gets no bold arrow", "", async (page) => {
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
});

// Searching: by clicks, with photos, to a file.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { post } from "./page.mjs";
import { arrows, asDropped, at, dropAnywhere, four, numbers, onBoth, photo, shot } from "./setup.mjs";

// What people do most works on both screens.
onBoth("from the gallery to a search to a comparison, by clicks", "", async (page, look, size) => {
  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  await page.locator(".card img.thumb").first().waitFor();
  assert.equal(await page.locator(".card").count(), 60);
  await shot(page, size === "" ? "gallery" : "gallery-flow-phone");
  await page.locator("select[name=label]").selectOption("004.Critter");
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 8);
  assert.match(page.url(), /label=004\.Critter/);
  assert.deepEqual([...new Set(await numbers(page.locator(".card .tag")))], ["004.Critter"]);
  const id = await page.locator(".card").nth(2).getAttribute("data-id");
  await page.locator(".card .card-picture").nth(2).click();

  await page.locator(".found .card").first().waitFor();
  const found = await post(at.server.address, "v1/search", { query: { id: Number(id) }, top: 12, rerank: 100 });
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
});

onBoth("the first view has images to begin with", "", async (page) => {
  const shown = page.locator(".samples a");
  await shown.nth(5).waitFor();
  assert.equal(await shown.count(), 6);
  const titles = await shown.evaluateAll((all) => all.map((one) => one.title));
  assert.equal(new Set(titles.map((title) => title.split("/")[0])).size, 6, `they are of one class: ${titles}`);
  await shown.nth(1).click();
  await page.locator(".found .card").first().waitFor();
  assert.equal(await page.locator(".slot .path").textContent(), titles[1]);
});

onBoth("a photo that is chosen is searched for", "", async (page, look, size) => {
  await page.locator("input[type=file]").setInputFiles(photo());
  await page.locator(".found .card").first().waitFor();
  const answer = await fetch(`${at.server.address}v1/search?top=12`, {
    method: "POST", body: readFileSync(photo()), headers: { "Content-Type": "image/jpeg" } });
  const found = await answer.json();
  assert.deepEqual(await numbers(page.locator(".found [data-score=total]")), found.hits.map((hit) => four(hit.total)));
  assert.equal(found.hits[0].path.endsWith(photo()), true); // it is in the gallery, too
  await page.locator("input[name=top]").fill("5");
  await page.waitForFunction(() => document.querySelectorAll(".found .card").length === 5);
  assert.match(page.url(), /top=5/);
  await page.locator("input[name=rerank]").fill("0");
  await page.waitForFunction(() => [...document.querySelectorAll("[data-score=structural]")].every((e) => e.textContent === "–"));
  await shot(page, `search-photo${size}`);
});

onBoth("a photo that is dropped is searched for", "", async (page) => {
  const bytes = [...readFileSync(photo())];
  const transfer = await page.evaluateHandle((content) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(content)], "dropped.jpg", { type: "image/jpeg" }));
    return data;
  }, bytes);
  await page.locator(".slot").dispatchEvent("drop", { dataTransfer: transfer });
  await page.locator(".found .card").first().waitFor();
  assert.equal(await page.locator(".slot .path").textContent(), "dropped.jpg");
});

onBoth("hits can be taken along as a table and as JSON", "#/search?id=17&top=5", async (page) => {
  const file = async (name) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
    await download.saveAs(`screenshots/${download.suggestedFilename()}`);
    return [download.suggestedFilename(), readFileSync(`screenshots/${download.suggestedFilename()}`, "utf8")];
  };
  await page.locator(".found .card").first().waitFor();
  const { hits } = await post(at.server.address, "v1/search", { query: { id: 17 }, top: 5 });
  const [table, text] = await file("CSV");
  assert.equal(table, "hits_003.Critter-critter_000018.csv");
  const [head, ...rows] = text.trim().split("\r\n");
  assert.equal(head, "query,rank,first_rank,id,path,label,global,structural,total");
  assert.deepEqual(rows, hits.map((hit) => ["003.Critter/critter_000018.jpg", hit.rank, hit.first_rank, hit.id, hit.path, hit.label,
                                            hit.global, hit.structural, hit.total].join(",")));
  const [name, json] = await file("JSON");
  assert.equal(name, "hits_003.Critter-critter_000018.json");
  assert.deepEqual(JSON.parse(json).hits, hits);
});

onBoth("a dropped photo survives a reload, and drops are taken anywhere", "", async (page) => {
  await page.locator(".welcome").waitFor();
  await dropAnywhere(page, [asDropped("anywhere.jpg")]);
  await page.locator(".found .card").first().waitFor();
  const before = await numbers(page.locator(".found [data-score=total]"));
  await page.reload();
  await page.locator(".found .card").first().waitFor();
  assert.equal(await page.locator(".slot .path").textContent(), "anywhere.jpg");
  assert.deepEqual(await numbers(page.locator(".found [data-score=total]")), before);

  await page.goto(`${at.server.address}#/compare?a=17&arrows=3`);
  await page.getByText("Choose two pictures").waitFor();
  await dropAnywhere(page, [asDropped("target.jpg")]);
  await page.locator(".score-row").waitFor();
  const score = await page.locator(".score-row .number").textContent();
  await page.reload();
  await page.locator(".score-row").waitFor();
  assert.equal(await page.locator(".score-row .number").textContent(), score);
  assert.deepEqual(await numbers(page.locator(".slot .path")), ["003.Critter/critter_000018.jpg", "target.jpg"]);
  assert.equal(await arrows(page), 3);
});

onBoth("a sign shows within 100 ms that an answer is awaited", "#/gallery", async (page) => {
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
});

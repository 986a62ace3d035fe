// The gallery: filters and pages, adding, changing and deleting.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { post } from "./page.mjs";
import { asDropped, at, cards, dropAnywhere, numbers, onBoth, onBothWithOwnGallery, pathsOf, photo } from "./setup.mjs";

onBothWithOwnGallery("photos are added together, then changed and deleted", "#/gallery", async (page, address) => {
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
  const [one, two] = await pathsOf(address, ({ path }) => path.startsWith("new-"));
  const both = [one, two];
  await page.locator("select[name=label]").selectOption("7777");
  await cards(page, both);
  assert.deepEqual(await numbers(page.locator(".card .tag")), ["label 7777", "label 7777"]); // a number says what it is
  const details = () => page.getByRole("button", { name: `Details of ${one}` }).click();
  await details();
  await page.locator("dialog input[name=label]").fill("pug");
  await page.getByRole("button", { name: "Save" }).click();
  await cards(page, [two]); // the other one is still 7777
  await page.locator("select[name=label]").selectOption("pug");
  await cards(page, [one]);
  assert.deepEqual(await numbers(page.locator(".card .tag")), ["pug"]);
  assert.deepEqual(await pathsOf(address, ({ label }) => label === "pug"), [one]);
  await details();
  await page.locator("dialog input[name=label]").fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await cards(page, []);
  assert.equal(await page.locator("select[name=label]").inputValue(), "pug"); // what is shown, though no image has it now
  await page.locator("select[name=label]").selectOption(""); // without a label
  await cards(page, [one]);
  await page.locator("select[name=label]").selectOption("*");
  await page.locator("input[name=path]").fill("NEW-");
  await cards(page, both);
  for (const [name, others] of [[one, [two]], [two, []]]) {
    await page.getByRole("button", { name: `Details of ${name}` }).click();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("button", { name: "Yes, delete it" }).click();
    await cards(page, others);
  }
  await page.waitForFunction(() => document.getElementById("about").textContent.includes("96 images"));
}, ["415"]);

onBothWithOwnGallery("when the last page is deleted, the page before is shown", "#/compare", async (page, address) => {
  const all = await pathsOf(address);
  for (let id = 60; id < all.length; ++id) await fetch(`${address}v1/items/${id}`, { method: "DELETE" });
  await page.goto(`${address}#/gallery?offset=60`);
  await cards(page, all.slice(0, 60));
  assert.equal(await page.locator(".summary").textContent(), "1–60 of 60 images");
  assert.doesNotMatch(page.url(), /offset/);
});

onBoth("several photos that are dropped, on any view, are offered to the gallery", "#/compare", async (page) => {
  await page.locator(".slot").first().waitFor();
  await dropAnywhere(page, [asDropped("one.jpg"), asDropped("two.jpg"), { name: "notes.txt", type: "text/plain", bytes: [65] }]);
  await page.getByRole("heading", { name: "Add 2 photos to the gallery?" }).waitFor();
  assert.match(await page.locator("dialog.sheet").textContent(), /1 file is left out: not a picture/);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("dialog.sheet").waitFor({ state: "detached" });
  await dropAnywhere(page, [{ name: "notes.txt", type: "text/plain", bytes: [65] }]);
  await page.getByText("This file is not a picture.").waitFor();
});

onBoth("pages have numbers; names and conditions narrow the gallery and the search", "#/gallery", async (page) => {
  const all = await pathsOf(at.server.address);
  await page.getByRole("link", { name: "Page 2" }).click();
  await cards(page, all.slice(60));
  assert.equal(await page.locator(".pages [aria-current=page]").textContent(), "2");
  await page.locator("input[name=path]").fill("CRITTER_00001");
  await cards(page, all.filter((path) => path.includes("critter_00001"))); // 10 to 19
  assert.match(page.url(), /path=CRITTER_00001/);
  assert.equal(await page.evaluate(() => document.activeElement.name), "path");
  const condition = async (text) => {
    await page.locator("input[name=where]").fill(text);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: `Remove the filter ${text}` }).waitFor();
  };
  await condition("label in 002.Critter,006.Critter");
  const wanted = await pathsOf(at.server.address, ({ path, label }) => /critter_00001/.test(path) && ["002.Critter", "006.Critter"].includes(label));
  assert.ok(wanted.length > 0 && wanted.length < 10);
  await cards(page, wanted);
  await condition("price<=20");
  await page.getByText("No image fits.").waitFor();
  await page.getByRole("button", { name: "Remove the filter price<=20" }).click();
  await cards(page, wanted);

  await page.goto(`${at.server.address}#/search?id=17`);
  await page.locator(".found .card").first().waitFor();
  await condition("label in 002.Critter,006.Critter");
  const found = await post(at.server.address, "v1/search", { query: { id: 17 }, top: 12, where: ["label in 002.Critter,006.Critter"] });
  assert.equal(found.items, 16);
  await cards(page, found.hits.map(({ path }) => path));
  assert.match(await page.locator(".summary").textContent(), /among 16 images, only label in 002\.Critter,006\.Critter/);
});

onBoth("a condition that is not understood is answered in one line", "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  await page.locator("input[name=where]").fill("nonsense");
  await page.keyboard.press("Enter");
  await page.locator("#error:not([hidden])").waitFor();
  assert.match(await page.locator("#error").textContent(), /nonsense.* is not understood/);
}, ["400"]);

onBoth("everything is reached with the keyboard", "#/gallery", async (page) => {
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
});

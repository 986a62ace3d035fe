// The gallery: filters and pages, adding, changing and deleting.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { post } from "./page.mjs";
import { asDropped, at, dropAnywhere, numbers, onBoth, photo } from "./setup.mjs";

onBoth("photos are added together, then changed and deleted", "#/gallery", async (page) => {
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
  assert.deepEqual([...new Set(await numbers(page.locator(".card .tag")))], ["label 7777"]); // a number says what it is
  await page.getByRole("button", { name: "Details of new-one.jpg" }).click();
  await page.locator("dialog input[name=label]").fill("pug");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("dialog.sheet").waitFor({ state: "detached" });
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 1); // the other one is still 7777
  await page.locator("select[name=label]").selectOption("pug");
  await page.locator('.card .path[title="new-one.jpg"]').waitFor();
  assert.deepEqual(await numbers(page.locator(".card .tag")), ["pug"]);
  const { items } = await (await fetch(`${at.server.address}v1/items?label=pug`)).json();
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
}, ["415"]);

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
  await condition("label in 002.Critter,006.Critter");
  const { items } = await (await fetch(`${at.server.address}v1/items?limit=1000`)).json();
  const wanted = items.filter(({ path, label }) => /critter_00001/.test(path) && ["002.Critter", "006.Critter"].includes(label)).map(({ id }) => String(id));
  assert.ok(wanted.length > 0 && wanted.length < 10);
  await shown(wanted.length);
  assert.deepEqual(await page.locator(".card").evaluateAll((cards) => cards.map((card) => card.dataset.id)), wanted);
  await condition("price<=20");
  await page.getByText("No image fits.").waitFor();
  await page.getByRole("button", { name: "Remove the filter price<=20" }).click();
  await shown(wanted.length);

  await page.goto(`${at.server.address}#/search?id=17`);
  await page.locator(".found .card").first().waitFor();
  await condition("label in 002.Critter,006.Critter");
  const found = await post(at.server.address, "v1/search", { query: { id: 17 }, top: 12, where: ["label in 002.Critter,006.Critter"] });
  assert.equal(found.items, 16);
  await page.waitForFunction((ids) => JSON.stringify([...document.querySelectorAll(".found .card")].map((card) => card.dataset.id)) === ids,
                             JSON.stringify(found.hits.map(({ id }) => String(id))));
  assert.match(await page.locator(".summary").textContent(), /among 16 images, only label in 002\.Critter,006\.Critter/);
});

onBoth("what is typed while the gallery is drawn anew counts, and nothing comes back after it was left", "#/gallery?label=002.Critter", async (page) => {
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 8);
  await page.evaluate(() => {
    const [labels, name] = [document.querySelector("select[name=label]"), document.querySelector("input[name=path]")];
    labels.value = "006.Critter";
    labels.dispatchEvent(new Event("change"));
    name.value = "critter_00004";
    name.dispatchEvent(new Event("input"));
  });
  await page.waitForFunction(() => location.hash.includes("path=critter_00004"));
  assert.match(page.url(), /label=006\.Critter/);
  await page.waitForFunction(() => document.querySelectorAll(".card").length === 8); // 41 to 48 of the sixth class

  // A field that is being typed in keeps focus and words when another change draws the view anew.
  await page.locator("input[name=path]").pressSequentially("4");
  await page.evaluate(() => {
    const labels = document.querySelector("select[name=label]");
    labels.dataset.old = "";
    labels.value = "002.Critter";
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

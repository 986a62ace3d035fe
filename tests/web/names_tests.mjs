// Names, labels and metadata that look like markup, break lines, turn the direction of writing or are no UTF-8: each view shows
// them as text, and nothing in them is carried out.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { cards, onBothWithOwnGallery, photo } from "./setup.mjs";

const MARKUP = `<img src=x onerror="attacked=1">`;
const NAMES = [`${MARKUP}'"&amp;<script>attacked=1<|script>.jpg`, "javascript:attacked=1", "new\nline\ttab.jpg", "rtl\u202egpj.jpg",
               "\u001b[31mred.jpg", "café".repeat(60), " ", Buffer.from([0x63, 0xe9, 0xff])];

// Adds a photo for each of the names, and returns their ids and the names as the page gets them.
async function addAll(address) {
  const shown = [];
  const ids = [];
  for (const [k, name] of NAMES.entries()) {
    const form = new FormData();
    form.set("image", new Blob([readFileSync(photo())], { type: "image/jpeg" }), "x.jpg");
    form.set("path_bytes", Buffer.from(name).toString("base64"));
    form.set("label", `${MARKUP}${k}`);
    form.set("metadata", JSON.stringify({ [MARKUP]: `</dd>${MARKUP}` }));
    const answer = await fetch(`${address}v1/items`, { method: "POST", body: form });
    assert.equal(answer.status, 201, await answer.text());
    shown.push(new TextDecoder().decode(Buffer.from(name)));
  }
  const { items } = await (await fetch(`${address}v1/items?limit=1000`)).json();
  for (const name of shown) ids.push(items.find(({ path }) => path === name).id);
  return { ids, shown };
}

async function expectTextAlone(page) {
  const found = await page.evaluate(() => ({
    attacked: typeof attacked, made: document.querySelectorAll("[onerror], main script, [href^='javascript:']").length }));
  assert.deepEqual(found, { attacked: "undefined", made: 0 });
}

onBothWithOwnGallery("names that look like markup are text in every view", "", async (page, address) => {
  const { ids, shown } = await addAll(address);
  await page.goto(`${address}#/gallery?offset=96`);
  await cards(page, shown);
  await expectTextAlone(page);
  // Nothing makes the page wider than its window.
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  for (const k of shown.keys()) {
    await page.getByRole("button", { name: /^Details of/ }).nth(k).click();
    await page.locator("dialog.sheet img").waitFor();
    assert.equal(await page.locator("dialog.sheet .path.whole").textContent(), shown[k]);
    assert.equal(await page.locator("dialog.sheet input[name=label]").inputValue(), `${MARKUP}${k}`);
    await expectTextAlone(page);
    await page.getByRole("button", { name: "Close" }).click();
  }
  await page.goto(`${address}#/search?id=${ids[0]}&top=20`);
  await page.locator(".found .card").nth(10).waitFor();
  await expectTextAlone(page);
  for (const [a, b] of [[ids[0], ids[7]], [ids[2], ids[3]]]) {
    await page.goto(`${address}#/compare?a=${a}&b=${b}`);
    await page.locator(".match-arrow").first().waitFor();
    await expectTextAlone(page);
  }
});

// A name in the page's address, too.
onBothWithOwnGallery("an address that holds markup is text", "", async (page, address) => {
  await page.goto(`${address}#/gallery?path=${encodeURIComponent(MARKUP)}&label=${encodeURIComponent(MARKUP)}`);
  await cards(page, []);
  assert.equal(await page.locator("input[name=path]").inputValue(), MARKUP);
  await expectTextAlone(page);
});

// What a reader does while an answer is awaited counts: nothing typed is lost, and nothing comes back after it was left.

import assert from "node:assert/strict";

import { at, cards, onBoth, pathsOf } from "./setup.mjs";

// Keeps requests back; letGo() lets those that wait and all later ones go.
async function keepBack(page, pattern) {
  const kept = [];
  await page.route(pattern, (route) => kept.push(route));
  const asked = async (count) => { while (kept.length < count) await page.waitForTimeout(5); };
  const letGo = async () => {
    await page.unroute(pattern);
    for (const route of kept) await route.continue().catch(() => {}); // some were given up
  };
  return { asked, letGo };
}

const choose = (page, label) => page.evaluate((value) => {
  const labels = document.querySelector("select[name=label]");
  labels.value = value;
  labels.dispatchEvent(new Event("change"));
}, label);
const ofLabel = (label, part = "") => pathsOf(at.server.address, (item) => item.label === label && item.path.includes(part));
const field = (page) => page.evaluate(() => [document.activeElement.name, document.activeElement.value]);

onBoth("what is typed while the gallery is drawn anew counts", "#/gallery?label=006.Critter", async (page) => {
  await cards(page, await ofLabel("006.Critter"));
  await choose(page, "002.Critter");
  await page.evaluate(() => {
    const name = document.querySelector("input[name=path]");
    name.value = "critter_00001";
    name.dispatchEvent(new Event("input"));
  });
  await cards(page, await ofLabel("002.Critter", "critter_00001")); // without those that begin with 00000
  assert.equal(await page.locator("input[name=path]").inputValue(), "critter_00001");

  // A field that is being typed in keeps focus and words when another change draws the view anew.
  const answers = await keepBack(page, "**/v1/items?*");
  await page.locator("input[name=path]").press("End");
  await page.keyboard.insertText("4");
  await choose(page, "003.Critter");
  await answers.asked(1);
  await page.keyboard.insertText("1");
  await answers.letGo();
  await page.waitForFunction(() => location.hash.includes("critter_0000141"));
  await page.getByText("No image fits.").waitFor();
  assert.deepEqual(await field(page), ["path", "critter_0000141"]);
  // Going back shows what was before, not what was typed.
  await page.goBack();
  await page.waitForFunction(() => {
    const path = new URLSearchParams(location.hash.split("?")[1]).get("path");
    return path !== "critter_0000141" && document.querySelector("input[name=path]").value === path;
  });
});

onBoth("words that replace selected ones do so after the view was drawn anew, too", "#/gallery?path=critter_00001", async (page) => {
  await cards(page, await pathsOf(at.server.address, ({ path }) => path.includes("critter_00001")));
  await page.locator("input[name=path]").focus();
  await page.locator("input[name=path]").selectText();
  await choose(page, "002.Critter");
  await cards(page, await ofLabel("002.Critter", "critter_00001"));
  await page.keyboard.insertText("CRITTER_00002");
  await cards(page, await ofLabel("002.Critter", "critter_00002"));
  assert.match(page.url(), /path=CRITTER_00002/);
});

onBoth("a condition that is half written stays when another field changes the view", "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  await page.locator("input[name=where]").fill("price<=");
  await page.locator("select[name=label]").selectOption("002.Critter");
  await cards(page, await ofLabel("002.Critter"));
  assert.equal(await page.locator("input[name=where]").inputValue(), "price<=");
});

onBoth("conditions that are added before the first is answered are all kept", "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  const answers = await keepBack(page, "**/v1/items?*");
  for (const text of ["label in 002.Critter,006.Critter", "label!=006.Critter"]) {
    await page.locator("input[name=where]").fill(text);
    await page.keyboard.press("Enter");
  }
  await answers.letGo();
  await cards(page, await ofLabel("002.Critter"));
  assert.equal(await page.locator(".chip").count(), 2);
});

onBoth("a link that is followed before the first view is there is followed", "", async (page) => {
  const answers = await keepBack(page, "**/v1/items?*");
  await page.goto(`${at.server.address}?anew#/gallery`);
  await answers.asked(1);
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await page.getByText("Choose two pictures").waitFor();
  await answers.letGo();
  await page.waitForLoadState("networkidle");
  assert.equal(await page.getByText("Choose two pictures").count(), 1);
});

onBoth("nothing comes back after a view was left", "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  await page.evaluate(() => {
    const name = document.querySelector("input[name=path]");
    name.value = "other";
    name.dispatchEvent(new Event("input"));
  });
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await page.getByText("Choose two pictures").waitFor();
  await page.waitForTimeout(400);
  assert.match(page.url(), /#\/compare$/);

  // A slider that is moved while the next view is under way.
  await page.goto(`${at.server.address}#/search?id=17`);
  await page.locator(".found .card").first().waitFor();
  const answers = await keepBack(page, "**/v1/items?*");
  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  await answers.asked(1);
  await page.locator("input[name=top]").fill("5");
  await answers.letGo();
  await page.locator("select[name=label]").waitFor();
  assert.match(page.url(), /#\/gallery$/);
});

onBoth("a slider that is moved while the view is drawn anew stays where it is", "#/search?id=17", async (page) => {
  await page.locator(".found .card").first().waitFor();
  const answers = await keepBack(page, "**/v1/items/18");
  await page.evaluate(() => { location.hash = location.hash.replace("id=17", "id=18"); });
  await answers.asked(1);
  await page.locator("input[name=top]").fill("5");
  await answers.letGo();
  await page.waitForFunction(() => document.querySelector(".slot .path").textContent.includes("critter_000019") &&
                                   document.querySelectorAll(".found .card").length === 5);
  assert.match(page.url(), /id=18/);
  assert.match(page.url(), /top=5/);
});

onBoth("a new page begins at its top, and back returns to the place before", "#/gallery", async (page) => {
  await page.locator(".card").first().waitFor();
  const down = () => page.evaluate(() => Math.round(scrollY));
  await page.getByRole("link", { name: "Page 2" }).scrollIntoViewIfNeeded();
  await page.waitForFunction(() => history.state?.down === scrollY && scrollY > 0);
  const before = await down();
  await page.getByRole("link", { name: "Page 2" }).click();
  await page.locator(".pages [aria-current=page]").filter({ hasText: "2" }).waitFor();
  assert.equal(await down(), 0);
  await page.locator(".card-picture").nth(20).click();
  await page.locator(".found .card").first().waitFor();
  assert.equal(await down(), 0);
  await page.goBack();
  await page.goBack();
  await page.locator(".pages [aria-current=page]").filter({ hasText: "1" }).waitFor();
  assert.equal(await down(), before);
});

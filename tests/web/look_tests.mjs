// What can be read, reached and named: on both screens, light and dark.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { visitor } from "./page.mjs";
import { at, faultsOfAccess, phone, photo, shot, visit, visitOwnGallery, withServer } from "./setup.mjs";

const looks = { "desktop": {}, "phone": phone, "dark": { colorScheme: "dark" }, "phone-dark": { ...phone, colorScheme: "dark" } };
// On the page as it is now: what cannot be read, reached or named; nothing wider than the window.
async function expectReadable(page, settings, what) {
  assert.deepEqual((await page.evaluate(faultsOfAccess)).slice(0, 10), [], what);
  const overfull = () => [...document.querySelectorAll(".panel, .pair, .card, dialog[open]")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => `${box.className}: ${box.scrollWidth} pixels in ${box.clientWidth}`);
  assert.deepEqual(await page.evaluate(overfull), [], what);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  const window = settings.viewport?.width ?? 1280;
  assert.ok(wide <= window, `${what} is ${wide} pixels wide in a window of ${window}`);
}

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
    const pin = async (page) => {
      const cell = page.locator(".match-cell").nth(5);
      await (settings.hasTouch ? cell.tap() : cell.click());
      await page.locator(".match-chosen").first().waitFor();
    };
    for (const [view, address, there, then] of [["welcome", "#/search", ".welcome"],
                                                ["search", "#/search?id=17&where=label!%3D004.Critter", ".found .card"],
                                                ["compare", "#/compare?a=17&b=20&lambda=0.05", ".score-row"],
                                                ["pinned", "#/compare?a=17&b=20", ".score-row", pin],
                                                ["gallery", "#/gallery?label=004.Critter", ".card"],
                                                ["details", "#/gallery", ".card", details],
                                                ["add", "#/gallery", ".card", add]]) {
      await visit(settings, address, async (page) => {
        await page.locator(there).first().waitFor();
        await then?.(page);
        await page.waitForLoadState("networkidle");
        // Before the screenshot: one of a full page ends the emulation of fingers.
        await expectReadable(page, settings, view);
        await (then ? page.screenshot({ path: `screenshots/${view}-${name}.png` }) : shot(page, `${view}-${name}`));
      });
    }
  });
}

// What shows only when something happens: one light and one dark screen, one large and one small.
for (const name of ["desktop", "phone-dark"]) {
  const settings = looks[name];
  const keep = (page, view) => page.screenshot({ path: `screenshots/${view}-${name}.png` });
  test(`an error can be read on a ${name} screen`, () => visit(settings, "#/search?id=99999", async (page) => {
    await page.locator("#error:not([hidden])").waitFor();
    await expectReadable(page, settings, "error");
    await keep(page, "error");
  }, ["404"]));

  test(`what was added and what was not can be read on a ${name} screen`, () => visitOwnGallery(settings, "#/gallery", async (page) => {
    await page.locator(".card").first().waitFor();
    const twice = { name: "twice.jpg", mimeType: "image/jpeg", buffer: readFileSync(photo()) };
    await page.getByLabel("Add photos to the gallery").setInputFiles([
      twice, { ...twice, name: "once.jpg" }, { ...twice, name: "broken.jpg", buffer: Buffer.from("no photo") }]);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("2 photos added").waitFor();
    await expectReadable(page, settings, "added");
    await keep(page, "added");
    await page.getByRole("button", { name: "Done" }).click();
    await page.waitForFunction(() => document.getElementById("about").textContent.includes("98 images"));
    // The same name again can be replaced.
    await page.getByLabel("Add photos to the gallery").setInputFiles([twice]);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByText("0 photos added").waitFor();
    await expectReadable(page, settings, "known already");
    await page.getByRole("button", { name: "Replace 1 image of the same name" }).click();
    await page.getByText("1 photo added").waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.locator("dialog.sheet").waitFor({ state: "detached" });
  }, ["409", "415"]));

  test(`the question for a token can be read on a ${name} screen`, () =>
    withServer([], { DIML_TOKEN: "sesame" }, settings, async (page, address) => {
      await page.goto(`${address}#/gallery`);
      await page.locator("#token [name=token]").waitFor();
      await expectReadable(page, settings, "token");
      await keep(page, "token");
      await page.locator("#token [name=token]").fill("sesame");
      await page.keyboard.press("Enter");
      await page.locator(".card").first().waitFor();
    }, ["401"]));

  test(`a server that is read-only can be read on a ${name} screen`, () =>
    withServer(["--read-only"], {}, settings, async (page, address) => {
      await page.goto(`${address}#/gallery`);
      await page.locator(".card").first().waitFor();
      await expectReadable(page, settings, "read-only");
      await page.getByRole("button", { name: /^Details of/ }).first().click();
      await page.locator("dialog.sheet img").waitFor();
      await expectReadable(page, settings, "read-only details");
      await keep(page, "read-only");
    }));
}

for (const [name, settings] of Object.entries(looks)) {
  test(`pages that are files can be read on a ${name} screen`, async () => {
    for (const [file, shown] of [["why", ".match-arrow"], ["queries", ".match-arrow"], ["hits", "li img"]]) {
      const one = await visitor(at.browser, "file://", settings);
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

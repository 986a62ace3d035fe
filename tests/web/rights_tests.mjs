// Who may do what, what cannot be done, and what is said then.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";

import { asDropped, dropAnywhere, onBoth, phone, sizes, withServer } from "./setup.mjs";

onBoth("what is not there is said in one line", "#/search?id=99999", async (page) => {
  await page.locator("#error:not([hidden])").waitFor();
  assert.match(await page.locator("#error").textContent(), /^Image 99999 is not in this gallery/);
}, ["404"]);

// What the server may answer to a search, and what a person reads.
const ANSWERS = [
  [403, "requests from a page of another site are refused", /^This gallery is read-only: images cannot be added, changed or deleted here\.$/],
  [413, "the body is larger than 20 MB", /^This photo is too large for the server\. Make it smaller and try again\.$/],
  [413, "the image has 900 million pixels, at most 100 are read", /^The photo has 900 million pixels, at most 100 are read\.$/],
  [415, "the image is not a picture that can be read", /^The photo is not a picture that can be read\.$/],
  [429, "too many wrong tokens (in a request: wait)", /^The server is busy\. Try again in a moment\.$/],
  [503, "the queue is full", /^The server is busy\. Try again in a moment\.$/],
  [500, "std::bad_alloc", /^The server could not do this\. Its log says why\.$/],
  [400, "'top' must be 1 to 1000: GET /openapi.json says more", /^'top' must be 1 to 1000\.$/],
];
onBoth("refusals are said in words for people, and go when the next answer comes", "#/search?id=17", async (page) => {
  await page.locator(".found .card").first().waitFor();
  const error = page.locator("#error");
  let top = 20;
  const ask = () => page.locator("input[name=top]").fill(String(++top));
  for (const [status, line, words] of ANSWERS) {
    await page.route("**/v1/search", (route) => route.fulfill({ status, contentType: "application/json", body: JSON.stringify({ error: line }) }));
    await ask();
    await error.filter({ hasText: words }).waitFor();
    await page.unroute("**/v1/search");
    await ask();
    await error.waitFor({ state: "hidden" });
  }
  // Nobody answers: the server was stopped, or the network is gone.
  await page.route("**/v1/search", (route) => route.abort("connectionrefused"));
  await ask();
  await error.filter({ hasText: /^The server does not answer\. Is it still running\? Reload the page when it is\.$/ }).waitFor();
}, [...ANSWERS.map(([status]) => String(status)), "ERR_CONNECTION_REFUSED", "v1/search failed"]);

const changing = (page) => [page.getByText("Add photos", { exact: true }), page.getByRole("button", { name: "Save" }),
                            page.getByRole("button", { name: "Delete", exact: true }), page.locator("dialog input[name=label]")];

// In the gallery and the panel of an image, the controls that change something are there or not.
async function expectChanges(page, allowed) {
  await page.locator(".card").first().waitFor();
  await page.getByRole("button", { name: /^Details of/ }).first().click();
  await page.locator("dialog.sheet img").waitFor();
  for (const control of changing(page)) assert.equal(await control.count(), allowed ? 1 : 0, String(control));
  await page.getByRole("button", { name: "Close" }).click();
}

for (const [size, look] of sizes) {
  test(`where nothing may be changed, nothing offers it, and thumbnails stand in for photos${size}`, () =>
    withServer(["--read-only", "--no-originals"], {}, look, async (page, address) => {
      await page.goto(`${address}#/gallery`);
      await expectChanges(page, false);
      // Several photos are not offered to the gallery; one is searched for.
      await dropAnywhere(page, [asDropped("one.jpg"), asDropped("two.jpg")]);
      await page.waitForTimeout(200);
      assert.equal(await page.locator("dialog").filter({ hasText: "to the gallery" }).count(), 0);
      await page.goto(`${address}#/compare?a=17&b=20`);
      await page.locator(".match-arrow").first().waitFor();
      assert.equal(await page.getByText(/^Shown from the thumbnail/).textContent(),
                   "Shown from the thumbnail, as the photo itself cannot be read here: 003.Critter/critter_000018.jpg, 003.Critter/critter_000021.jpg.");
    }));

  test(`with a token the page asks for it once, shows pictures, and offers what the token may do${size}`, () => {
    writeFileSync("tokens.txt", "read shop look\nwrite boss sesame\n", { mode: 0o600 });
    return withServer(["--token-file", "tokens.txt"], {}, look, async (page, address) => {
      const enter = async (token) => {
        await page.goto(`${address}#/gallery`);
        await page.locator("#token [name=token]").fill(token);
        await page.keyboard.press("Enter");
        await page.waitForFunction(() => [...document.querySelectorAll(".card img")].some((image) => image.naturalWidth > 0));
      };
      await enter("look");
      await expectChanges(page, false);
      await page.evaluate(() => sessionStorage.clear());
      await page.reload();
      await enter("sesame");
      await expectChanges(page, true);
      // A reload asks no more.
      await page.reload();
      await expectChanges(page, true);
    }, ["401"]);
  });
}

test("the photo itself is compared where the server can read it", () => withServer([], {}, phone, async (page, address) => {
  await page.goto(`${address}#/compare?a=17&b=20`);
  await page.locator(".match-arrow").first().waitFor();
  assert.equal(await page.getByText(/^Shown from the thumbnail/).count(), 1);
  assert.equal(await page.getByText(/^Shown from the thumbnail/).isVisible(), false);
}));

// The page in a browser, with real clicks; the numbers on the page are those of the server.

import assert from "node:assert/strict";
import { after, before } from "node:test";

import { startBrowser, startServer } from "./page.mjs";
import { at, diml } from "./setup.mjs";

import "./search_tests.mjs";
import "./compare_tests.mjs";
import "./gallery_tests.mjs";
import "./look_tests.mjs";
import "./redraw_tests.mjs";
import "./names_tests.mjs";
import "./rights_tests.mjs";

before(async () => {
  at.server = await startServer(diml);
  at.browser = await startBrowser();
});
after(async () => {
  await at.browser.close();
  assert.equal(await at.server.stop(), 0);
});

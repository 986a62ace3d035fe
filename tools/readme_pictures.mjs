// A screenshot of the page, for the README: node readme_pictures.mjs DIML FILE. Run by tools/readme_pictures.

import { startBrowser, startServer, visitor } from "./page.mjs";

const [diml, file] = process.argv.slice(2);
const server = await startServer(diml, ["--read-only"]);
const browser = await startBrowser();
try {
  const { page, complaints } = await visitor(browser, server.address,
                                             { viewport: { width: 1100, height: 700 }, colorScheme: "light" });
  await page.goto(`${server.address}#/search?id=1`);
  await page.locator(".card img.thumb").first().waitFor();
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: file });
  if (complaints.length > 0) throw new Error(complaints.join("\n"));
} finally {
  await browser.close();
  await server.stop();
}

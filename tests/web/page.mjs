// Shared by the tests: the server, the browser, and a page without errors.

import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

// diml serve on a free port, and its address.
export async function startServer(diml, more = [], environment = {}, gallery = "gallery.diml") {
  const server = spawn(diml, ["serve", gallery, "--port", "0", ...more],
                       { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...environment } });
  const line = await new Promise((resolve, reject) => {
    server.stdout.once("data", (data) => resolve(String(data)));
    server.once("exit", (code) => reject(new Error(`diml serve ended with ${code}`)));
  });
  const address = line.match(/http:\/\/[^ ]+\//)[0];
  const stop = () => new Promise((resolve) => {
    server.once("exit", resolve);
    server.kill("SIGTERM");
  });
  return { address, stop };
}

export function startBrowser() {
  return chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// A new visitor. complaints: all that the console says, and all errors of the page and the network.
export async function visitor(browser, address, settings = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...settings });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000); // a busy machine is no fault of the page
  // How many times slower than this machine: races show on slow ones.
  const rate = Number(process.env.DIML_PAGE_SLOWER ?? 1);
  if (rate > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate });
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => {
    // Sliders abort requests whose answers are no longer needed.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`${request.url()} failed`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob):/.test(url)) complaints.push(`asks elsewhere: ${url}`);
  });
  return { page, complaints, close: () => context.close() };
}

export async function post(address, path, body) {
  const answer = await fetch(address + path, { method: "POST", body: JSON.stringify(body),
                                               headers: { "Content-Type": "application/json" } });
  return answer.json();
}

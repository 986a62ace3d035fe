// The server's routes as functions. The message of an ApiError is the server's one-line error; messages.js has words for people.

export class ApiError extends Error {
  constructor(status, line) {
    super(line);
    this.status = status;
  }
}

const KEY = "diml-token";

function askForToken() {
  const dialog = document.getElementById("token");
  if (!dialog.open) dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEY, dialog.querySelector("[name=token]").value);
      resolve();
    }, { once: true });
  });
}

// Requests under way; the page shows a sign while there are any.
const waiting = new Set();
let tellBusy = () => {};
export function onBusy(action) { tellBusy = action; }

async function held(work) {
  const key = {};
  waiting.add(key);
  tellBusy(waiting.size);
  try {
    return await work();
  } finally {
    waiting.delete(key);
    tellBusy(waiting.size);
  }
}

async function call(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const response = await held(() => fetch(path, { ...options, headers }));
  if (response.status === 401) {
    await askForToken();
    return call(path, options);
  }
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new ApiError(response.status, answer.error ?? `the server answered ${response.status}`);
  }
  return response;
}

const json = async (path, options) => (await call(path, options)).json();

const send = (method, path, body, signal) =>
  body instanceof FormData
    ? json(path, { method, body, signal })
    : json(path, { method, body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });

const textOf = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));

// A picture is an item of the gallery, { id }, or a photo of the user, { file }.
function form(files, fields) {
  const data = new FormData();
  for (const [name, picture] of Object.entries(files)) {
    if (picture.file) data.append(name, picture.file, picture.file.name || "photo");
    else data.append(name, String(picture.id));
  }
  for (const [name, value] of Object.entries(fields)) data.append(name, textOf(value));
  return data;
}

export const gallery = () => json("v1/gallery");
export const item = (id) => json(`v1/items/${id}`);
export const items = (fields, signal) =>
  json(`v1/items?${new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, textOf(value)]))}`, { signal });

export const add = (file, fields, signal) => send("POST", "v1/items", form({ image: { file } }, fields), signal);
export const change = (id, fields) => send("PATCH", `v1/items/${id}`, fields);
export const remove = (id) => json(`v1/items/${id}`, { method: "DELETE" });

export const search = (picture, fields, signal) =>
  send("POST", "v1/search", picture.file ? form({ image: picture }, fields) : { query: { id: picture.id }, ...fields }, signal);

export const explain = (source, target, fields, signal) =>
  send("POST", "v1/explain", source.file || target.file
    ? form({ source, target }, fields)
    : { source: { id: source.id }, target: { id: target.id }, ...fields }, signal);

const pictures = new Map();

// An address for an <img>: kind is thumbnail or photo. The browser does not send the token with an <img>: if there is a token,
// the bytes are fetched here.
export function pictureAddress(id, kind) {
  const path = `v1/items/${id}/${kind}`;
  if (!sessionStorage.getItem(KEY)) return Promise.resolve(path);
  if (!pictures.has(path)) pictures.set(path, call(path).then((r) => r.blob()).then((b) => URL.createObjectURL(b)));
  return pictures.get(path);
}

// The photo, or the thumbnail where the server cannot read the photo any more.
export async function photoBytes(id) {
  const answer = await call(`v1/items/${id}/photo`);
  return { bytes: await answer.blob(), original: !answer.headers.has("Content-Location") };
}

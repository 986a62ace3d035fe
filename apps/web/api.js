// The server, as functions. Errors are its own one line.

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
      sessionStorage.setItem(KEY, dialog.querySelector("input").value);
      resolve();
    }, { once: true });
  });
}

async function call(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const response = await fetch(path, { ...options, headers });
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

const post = (path, body, signal) =>
  body instanceof FormData
    ? json(path, { method: "POST", body, signal })
    : json(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal });

// A picture is an item of the gallery, { id }, or a photo of the user's, { file }.
function form(files, fields) {
  const data = new FormData();
  for (const [name, picture] of Object.entries(files)) {
    if (picture.file) data.append(name, picture.file, picture.file.name || "photo");
    else data.append(name, String(picture.id));
  }
  for (const [name, value] of Object.entries(fields)) data.append(name, String(value));
  return data;
}

export const gallery = () => json("v1/gallery");
export const item = (id) => json(`v1/items/${id}`);
export const items = (fields, signal) => json(`v1/items?${new URLSearchParams(fields)}`, { signal });

export const search = (picture, fields, signal) =>
  post("v1/search", picture.file ? form({ image: picture }, fields) : { query: { id: picture.id }, ...fields }, signal);

export const explain = (source, target, fields, signal) =>
  post("v1/explain", source.file || target.file
    ? form({ source, target }, fields)
    : { source: { id: source.id }, target: { id: target.id }, ...fields }, signal);

const thumbnails = new Map();

// An address that an <img> can have. With a token the browser would not send it: then the bytes are fetched here.
export function thumbnail(id) {
  if (!sessionStorage.getItem(KEY)) return Promise.resolve(`v1/items/${id}/thumbnail`);
  if (!thumbnails.has(id)) {
    thumbnails.set(id, call(`v1/items/${id}/thumbnail`).then((r) => r.blob()).then((b) => URL.createObjectURL(b)));
  }
  return thumbnails.get(id);
}

export const thumbnailBytes = async (id) => (await call(`v1/items/${id}/thumbnail`)).blob();

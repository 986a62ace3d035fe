// Pictures: those of the gallery, those that the user drops, and what the network sees of them.

import * as api from "./api.js";
import { el, labelText, shortPath } from "./elements.js";

// Photos of this visit. They live here and in the server's memory while it answers, nowhere else.
const photos = new Map();

export function keepPhoto(file) {
  const key = `photo${photos.size + 1}`;
  photos.set(key, { key, file, name: file.name || key });
  return key;
}

// What a word of the address stands for: { id } or { file }, with a name; null where it is gone or there is none.
export async function pictureOf(word) {
  if (!word) return null;
  if (photos.has(word)) return photos.get(word);
  if (!/^\d+$/.test(word)) return null;
  const item = await api.item(Number(word));
  return { key: word, id: item.id, name: shortPath(item.path), label: item.label };
}

// An <img> of an item; one without a thumbnail is shown by its number.
export function thumbnailOf(id, alt) {
  const image = el("img", { alt, loading: "lazy", class: "thumb", width: 160, height: 160 });
  image.addEventListener("error", () => image.replaceWith(el("span", { class: "thumb none" }, `no picture of ${id}`)));
  api.thumbnail(id).then((address) => { image.src = address; }, () => image.dispatchEvent(new Event("error")));
  return image;
}

const addressOf = (picture) => {
  picture.address ??= picture.file ? URL.createObjectURL(picture.file) : null;
  return picture.address;
};

export function previewOf(picture) {
  if (picture.id !== undefined) return thumbnailOf(picture.id, picture.name);
  return el("img", { alt: picture.name, class: "thumb", src: addressOf(picture) });
}

// The square in the middle that the network sees, as a data address: it goes into downloads too.
export async function seenPart(picture, crop = 1, side = 360) {
  const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side });
  const context = canvas.getContext("2d");
  try {
    const bitmap = await createImageBitmap(picture.file ?? await api.thumbnailBytes(picture.id));
    const part = Math.min(bitmap.width, bitmap.height) * crop;
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, (bitmap.width - part) / 2, (bitmap.height - part) / 2, part, part, 0, 0, side, side);
  } catch {
    context.fillStyle = "#8a8f98";
    context.fillRect(0, 0, side, side);
  }
  return canvas.toDataURL("image/jpeg", 0.9);
}

// A place for one picture: drop, paste or pick a file, or go to the gallery. change(key): what was chosen.
export function slot({ title, picture, photos: allowed, galleryLink, change }) {
  const input = el("input", { type: "file", accept: "image/jpeg,image/png,image/webp", class: "hidden-file",
                              "aria-label": `${title}: choose a photo`,
                              onchange: () => input.files[0] && change(keepPhoto(input.files[0])) });
  const box = el("div", { class: picture ? "slot filled" : "slot" },
    picture ? previewOf(picture) : el("p", { class: "hint" }, allowed ? "Drop a photo here" : "Pick one from the gallery"),
    el("div", { class: "slot-words" },
      el("strong", {}, title),
      picture ? el("span", { class: "path" }, picture.name) : null,
      picture?.label !== undefined ? el("span", { class: "tag" }, labelText(picture.label)) : null,
      el("span", { class: "slot-actions" },
        allowed ? el("label", { class: "button" }, "Choose a photo", input) : null,
        el("a", { class: "button", href: galleryLink }, "From the gallery"))));
  if (!allowed) return box;
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    const file = [...event.dataTransfer.files].find((one) => one.type.startsWith("image/"));
    if (file) change(keepPhoto(file));
  });
  return box;
}

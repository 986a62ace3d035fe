// Pictures of the gallery and photos of the user, and the crop that the network sees.

import * as api from "./api.js";
import { el, hasLabel, labelText, shortPath } from "./elements.js";
import { imagesOf, isPhotoKey, keepPhoto, PHOTO_FILES, photoOf } from "./photos.js";

// The picture that a word of the address names: { id } or { file }, with a name; null if there is none.
export async function pictureOf(word) {
  if (!word) return null;
  if (isPhotoKey(word)) return photoOf(word);
  if (!/^\d+$/.test(word)) return null;
  const item = await api.item(Number(word));
  return { key: word, id: item.id, name: shortPath(item.path), path: item.path, label: item.label };
}

function imageOf(address, alt, without, properties = {}) {
  const image = el("img", { alt, class: "thumb", ...properties });
  image.addEventListener("error", () => image.replaceWith(el("span", { class: "thumb none" }, without)));
  address.then((found) => { image.src = found; }, () => image.dispatchEvent(new Event("error")));
  return image;
}

// An <img> of an item; without a thumbnail its name is shown.
export const thumbnailOf = (id, alt) =>
  imageOf(api.pictureAddress(id, "thumbnail"), alt, `no picture of ${alt}`, { loading: "lazy", width: 320, height: 320 });

export const photoImage = (id, alt) => imageOf(api.pictureAddress(id, "photo"), alt, `no picture of ${alt}`, { class: "thumb photo" });

export function previewOf(picture) {
  if (picture.id !== undefined) return thumbnailOf(picture.id, picture.name);
  picture.address ??= URL.createObjectURL(picture.file);
  return imageOf(Promise.resolve(picture.address), picture.name, "this browser cannot show this format");
}

// The centre crop that the network sees, as a data: URL, so that downloads contain it too. original: whether it is from the photo.
export async function seenPart(picture, crop = 1, side = 800) {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  let original = true;
  try {
    const got = picture.file ? { bytes: picture.file, original } : await api.photoBytes(picture.id);
    const bitmap = await createImageBitmap(got.bytes);
    original = got.original;
    const part = Math.min(bitmap.width, bitmap.height) * crop;
    canvas.width = canvas.height = Math.max(Math.min(side, Math.round(part)), 160);
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, (bitmap.width - part) / 2, (bitmap.height - part) / 2, part, part, 0, 0, canvas.width, canvas.height);
  } catch {
    original = false;
    canvas.width = canvas.height = 160;
    context.fillStyle = "#8a8f98";
    context.fillRect(0, 0, 160, 160);
  }
  return { address: canvas.toDataURL("image/jpeg", 0.92), original };
}

// The first picture among files that were chosen or dropped: take(key) is called with it. Where there is none, that is told.
export async function takePhoto(files, take, tell) {
  const [file] = imagesOf(files);
  if (file) take(await keepPhoto(file));
  else if (files.length > 0) tell(new Error("This file is not a picture"));
}

// A slot for one picture: choose a file, drop one anywhere, or go to the gallery. change(key) is called with the chosen photo.
export function slot({ title, picture, photos: allowed, galleryLink, change, tell }) {
  const choose = (files) => takePhoto(files, change, tell);
  const input = el("input", { type: "file", accept: PHOTO_FILES, class: "hidden-file",
                              "aria-label": `${title}: choose a photo`,
                              onchange: () => choose(input.files) });
  const box = el("div", { class: picture ? "slot filled" : "slot" },
    picture ? previewOf(picture) : el("p", { class: "hint" }, allowed ? "Drop a photo here" : "Pick one from the gallery"),
    el("div", { class: "slot-words" },
      el("strong", {}, title),
      picture ? el("span", { class: "path", title: picture.path ?? picture.name }, picture.name) : null,
      picture && hasLabel(picture.label) ? el("span", { class: "tag" }, labelText(picture.label)) : null,
      el("span", { class: "slot-actions" },
        allowed ? el("label", { class: "button" }, "Choose a photo", input) : null,
        el("a", { class: "button", href: galleryLink }, "From the gallery"))));
  if (!allowed) return box;
  box.addEventListener("dragover", (event) => { event.preventDefault(); box.classList.add("over"); });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    box.classList.remove("over");
    document.dispatchEvent(new Event("dropped"));
    choose(event.dataTransfer.files);
  });
  return box;
}

// Photos of the user. They stay in this browser, in IndexedDB, so that a reload and the back button find them; the server has
// them only while it answers. The oldest are forgotten.

const MOST = 24;
const known = new Map();

function database() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("diml", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("photos", { keyPath: "key" });
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function store(photo) {
  const opened = await database();
  const photos = opened.transaction("photos", "readwrite").objectStore("photos");
  await done(photos.put(photo));
  const keys = await done(photos.getAllKeys());
  for (const key of keys.sort().slice(0, -MOST)) await done(photos.delete(key));
  opened.close();
}

// Returns the word of the address that names the photo. Keys ascend with time.
export async function keepPhoto(file) {
  const key = `photo${Date.now()}${String(known.size).padStart(3, "0")}`;
  const photo = { key, file, name: file.name || "photo" };
  known.set(key, photo);
  // A private window may have no place: then the photo lives until the next reload.
  await store({ key, file, name: photo.name }).catch(() => {});
  return key;
}

export const isPhotoKey = (word) => /^photo\d+$/.test(word);

export async function photoOf(key) {
  if (known.has(key)) return known.get(key);
  const found = await database().then(async (opened) => {
    const photo = await done(opened.transaction("photos").objectStore("photos").get(key));
    opened.close();
    return photo;
  }).catch(() => undefined);
  if (!found) throw new Error("This photo is no longer kept in this browser. Choose it again");
  known.set(key, found);
  return found;
}

// What a dialog for files offers: some systems do not know the last ones as pictures.
export const PHOTO_FILES = "image/*,.heic,.heif,.avif,.tif,.tiff";
const NAMES = /\.(jpe?g|png|webp|gif|bmp|tiff?|heic|heif|avif)$/i;
export const imagesOf = (files) => [...files].filter((file) => file.type.startsWith("image/") || NAMES.test(file.name));

// What went wrong, in words for people: no routes, no status numbers, and what to do next.

const BY_STATUS = {
  403: "This gallery is read-only: images cannot be added, changed or deleted here.",
  413: "This photo is too large for the server. Make it smaller and try again.",
  415: "This file is not a photo that the server can read.",
  429: "The server is busy. Try again in a moment.",
  503: "The server is busy. Try again in a moment.",
};

// The server's line without what it says to programs: "..: GET /v1/items lists them", "(in a request: ..)".
function forPeople(line) {
  const plain = line.replace(/\s*\(in a request:.*\)$/, "").replace(/:?\s*[^:;,]*\b(GET|POST|PUT|PATCH|DELETE) \/.*$/, "");
  const sentence = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}

export function wordsOf(problem) {
  const { status, message = "" } = problem ?? {};
  if (status === undefined) {
    return problem instanceof TypeError ? "The server does not answer. Is it still running? Reload the page when it is."
                                        : forPeople(message || "Something went wrong");
  }
  const item = message.match(/there is no item (\d+)/);
  if (item) return `Image ${item[1]} is not in this gallery; it may have been deleted.`;
  if (status === 409) return "An image of this name is in the gallery already.";
  // A photo's own line is better than the general one.
  if (status === 415 || status === 413) return /^the image /.test(message) ? forPeople(`the photo ${message.slice(10)}`) : BY_STATUS[status];
  return BY_STATUS[status] ?? (status >= 500 ? "The server could not do this. Its log says why." : forPeople(message));
}

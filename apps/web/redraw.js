// Draws a view anew without taking from its reader what is in use: text that is typed, the focus, the scroll position.

const isText = (field) => field.matches("input[type=text], input[type=search]");

const fieldsOf = (root) => [...root.querySelectorAll("input[name], select[name]")];
// Radio buttons share a name.
const nameOf = (field) => (field.type === "radio" ? `${field.name}=${field.value}` : field.name);

// Words that the page has not acted on yet; the new field hears of them.
const typedIn = (field) => isText(field) && field.value !== field.defaultValue;

function resume(field, anew) {
  const same = anew.value === field.value;
  anew.focus({ preventScroll: true });
  if (!isText(anew)) return;
  // The same words keep the place of the next letter, and what is selected; other words end there.
  const end = anew.value.length;
  anew.setSelectionRange(...(same ? [field.selectionStart, field.selectionEnd, field.selectionDirection] : [end, end]));
}

// same: root shows the same view already, in another state.
export function redraw(root, content, same) {
  const before = same ? new Map(fieldsOf(root).map((field) => [nameOf(field), field])) : new Map();
  const inUse = document.activeElement;
  const hadFocus = root.contains(inUse);
  root.replaceChildren(...content);
  let focused = false;
  for (const anew of fieldsOf(root)) {
    const field = before.get(nameOf(anew));
    if (!field) continue;
    if (typedIn(field)) {
      anew.value = field.value;
      anew.dispatchEvent(new Event("input"));
    }
    if (field === inUse) {
      resume(field, anew);
      focused = true;
    }
  }
  // Who walks through the page with the keyboard goes on at its content, not at its head.
  if (hadFocus && !focused) root.focus({ preventScroll: true });
}

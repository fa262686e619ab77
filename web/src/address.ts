import { batch, effect } from "@preact/signals";
import { modes } from "./palette.ts";
import { type ColorMode, chosenGroup, colorMode, filterText, hours, selected, view } from "./store.ts";

// What is shown is in the address of the page, so that it can be sent, bookmarked, and left with the back button.

/** Parameters of what differs from the first view; empty for the first view itself. */
function shownAddress(): URLSearchParams {
  const parameters = new URLSearchParams();
  const add = (name: string, value: string | undefined, usual = "") => {
    if (value !== undefined && value !== usual) parameters.set(name, value);
  };
  add("node", selected.value);
  add("view", view.value, "map");
  add("filter", filterText.value);
  if (chosenGroup.value !== undefined) parameters.set("group", chosenGroup.value);
  add("colour", colorMode.value, "class");
  add("hours", String(hours.value), "1");
  return parameters;
}

/** Unknown values of an address count as absent. */
function show(parameters: URLSearchParams): void {
  const colour = parameters.get("colour") ?? "";
  const length = Number(parameters.get("hours"));
  batch(() => {
    selected.value = parameters.get("node") ?? undefined;
    view.value = parameters.get("view") === "table" ? "table" : "map";
    filterText.value = parameters.get("filter") ?? "";
    chosenGroup.value = parameters.get("group") ?? undefined;
    colorMode.value = Object.hasOwn(modes, colour) ? (colour as ColorMode) : "class";
    hours.value = Number.isInteger(length) && length > 0 ? length : 1;
  });
}

/** Keeps the address and the page together. A node or a view that is opened is a step that the back button undoes. */
export function followAddress(): void {
  const current = () => new URLSearchParams(location.search);
  show(current());
  addEventListener("popstate", () => show(current()));
  effect(() => {
    const next = shownAddress();
    const now = current();
    if (next.toString() === now.toString()) return;
    const isStep = next.get("node") !== now.get("node") || next.get("view") !== now.get("view");
    const search = next.size === 0 ? location.pathname : `?${next.toString()}`;
    if (isStep) history.pushState(null, "", search);
    else history.replaceState(null, "", search);
  });
}

import { selected } from "./store.ts";

/** The address of a node: it can be sent, and opened in a tab of its own. */
export const NodeLink = ({ name }: { name: string }) => (
  <a
    class="link"
    dir="auto"
    href={`?node=${encodeURIComponent(name)}`}
    onClick={(event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      selected.value = name;
    }}
  >
    {name}
  </a>
);

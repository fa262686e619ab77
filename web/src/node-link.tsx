import { selected } from "./store.ts";

export const NodeLink = ({ name }: { name: string }) => (
  <button type="button" class="link" dir="auto" onClick={() => (selected.value = name)}>
    {name}
  </button>
);

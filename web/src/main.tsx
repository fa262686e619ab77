import { render } from "preact";
import { App } from "./app.tsx";
import { startStore } from "./store.ts";
import "./style.css";

const place = document.getElementById("app");
if (place !== null) {
  startStore();
  // The header of index.html is there before this script; the app replaces it.
  place.replaceChildren();
  render(<App />, place);
}

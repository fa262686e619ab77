import { render } from "preact";
import { followAddress } from "./address.ts";
import { App } from "./app.tsx";
import { startStore } from "./store.ts";
// Later files override earlier ones.
import "./styles/base.css";
import "./styles/panels.css";
import "./styles/fleet.css";
import "./styles/drawer.css";
import "./styles/login-and-narrow-screens.css";

const place = document.getElementById("app");
if (place !== null) {
  followAddress();
  startStore();
  // The header of index.html is there before this script; the app replaces it.
  place.replaceChildren();
  render(<App />, place);
}

import { render } from "preact";
import { App } from "./app.tsx";
import { startStore } from "./store.ts";
import "./style.css";

const place = document.getElementById("app");
if (place !== null) {
  startStore();
  render(<App />, place);
}

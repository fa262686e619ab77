// Preloaded into a process: its control services take 1.5 s for each command, like a slow management controller.
import { Server } from "node:http";

const TAKES_MS = 1500;
/** @type {(...args: any[]) => boolean} */
const emit = Reflect.get(Server.prototype, "emit");
Server.prototype.emit = function (/** @type {string} */ event, /** @type {any[]} */ ...args) {
  const [request] = args;
  if (event !== "request" || !request.url.startsWith("/control/")) return emit.call(this, event, ...args);
  setTimeout(() => emit.call(this, event, ...args), TAKES_MS);
  return true;
};

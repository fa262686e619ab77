export { extenderConfig } from "./config.ts";
export { runExtender } from "./start.ts";

export { ask } from "./ask.ts";
export { run } from "./cli.ts";

export { run } from "./cli.ts";

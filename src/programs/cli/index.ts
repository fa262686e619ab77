export { run, type World } from "./cli.ts";

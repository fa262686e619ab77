export { check, summarize } from "./check.ts";

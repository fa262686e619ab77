export { forEachConcurrently } from "./for-each-concurrently.ts";

export { applyCrds } from "./apply-crds.ts";

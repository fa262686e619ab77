export { clearStop, uninstall } from "./uninstall.ts";

export { eventually, eventuallyPasses, realWork, simulatedDelay, watchFor } from "./eventually.ts";

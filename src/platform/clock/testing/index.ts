export { eventually, eventuallyPasses, realWork, simulatedDelay, watchFor } from "./eventually.ts";
export { VirtualClock } from "./virtual.ts";

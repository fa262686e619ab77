export { listed, nodesNotOn, releaseFromWake, testWake, wake } from "./requests.ts";

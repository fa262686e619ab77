export { agentConfig } from "./config.ts";
export { runAgent } from "./start.ts";

export { operatorConfig } from "./config.ts";
export { runOperator } from "./start.ts";

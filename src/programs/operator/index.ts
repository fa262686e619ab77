export { operatorConfig } from "./config.ts";
export { arrivalsConfigMap } from "./observe/arrival-store.ts";
export { runOperator } from "./start.ts";

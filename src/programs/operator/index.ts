export { operatorConfig } from "./config.ts";
export { settingsOf } from "./settings.ts";
export { runOperator } from "./start.ts";

export { type OperatorConfig, operatorConfig } from "./config.ts";
export { type OperatorSettings, settingsOf } from "./settings.ts";
export { runOperator } from "./start.ts";

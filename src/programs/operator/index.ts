export { operatorConfig } from "./config.ts";
export { storedArrivals } from "./observe/arrival-store.ts";
export { operatorSettingsOf } from "./settings.ts";
export { runOperator } from "./start.ts";

export { operatorConfig } from "./config.ts";
export { storedArrivals } from "./observe/arrival-store.ts";
export { settingsOf } from "./settings.ts";
export { runOperator } from "./start.ts";

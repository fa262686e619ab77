export { type ExtenderConfig, extenderConfig } from "./config.ts";
export { energySettingsOf, scoringSettingsOf } from "./settings.ts";
export { runExtender } from "./start.ts";

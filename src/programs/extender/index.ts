export { type ExtenderConfig, energySettingsOf, extenderConfig, scoringSettingsOf } from "./config.ts";
export { runExtender } from "./start.ts";

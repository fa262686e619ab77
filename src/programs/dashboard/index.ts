export { dashboardConfig } from "./config.ts";
export { runDashboard } from "./start.ts";
export type { SavingsAnswer } from "./wire.ts";

export { dashboardConfig } from "./config.ts";
export { runDashboard } from "./start.ts";

export { dayOfNodeHistory, HistoryRing, type SavedHistory } from "./history-ring.ts";

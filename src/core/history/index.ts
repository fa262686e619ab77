export {
  dayOfHistory,
  dayOfNodeHistory,
  type HistoryColumns,
  HistoryRing,
  type HistorySample,
  type HistoryTier,
  type SavedHistory,
} from "./history-ring.ts";

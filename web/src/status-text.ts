import { age } from "./format.ts";
import { cluster, connection, heard, syncing } from "./store.ts";

/** The state of the connection in words, with the age of the data. */
export function statusText(now: number): { readonly level: "good" | "warn" | "bad"; readonly text: string } {
  const state = connection.value;
  const { here, silence } = heard.value;
  const old = age(here, now);
  if (state.state === "connecting") return { level: "warn", text: "Connecting …" };
  if (state.state === "login") return { level: "bad", text: "A token is needed" };
  if (state.state === "lost")
    return { level: "bad", text: `Not live: ${state.reason}. Data is ${old} old; trying again.` };
  if (syncing.value.length > 0) return { level: "warn", text: `Reading ${syncing.value.join(", ")} …` };
  if (silence !== null && silence > API_SILENT)
    return { level: "bad", text: `The API server has been silent for ${age(0, silence)}` };
  return { level: "good", text: `Live, data ${old} old` };
}

/** The API server sends a bookmark every minute. */
const API_SILENT = 120_000;

export const clusterName = (): string => cluster.value.name.replace(/^https?:\/\//, "");

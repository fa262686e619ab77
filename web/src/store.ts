import { batch, computed, effect, signal } from "@preact/signals";
import type {
  DecisionEntry,
  HistoryAnswer,
  LabelColumn,
  ProblemEntry,
  SavingsAnswer,
  Totals,
} from "../../src/programs/dashboard/wire.ts";
import { get, token } from "./api.ts";
import { filterOf } from "./filter.ts";
import { Fleet } from "./fleet.ts";
import { Live } from "./live.ts";

export type ColorMode = "class" | "power" | "used" | "cooling" | "age";
export type Connection =
  | { readonly state: "connecting" | "live" }
  | { readonly state: "lost"; readonly reason: string; readonly since: number }
  | { readonly state: "login"; readonly reason: string };

/** The nodes are one object that changes; `version` says that it did. */
export const fleet = new Fleet();
export const version = signal(0);
const topology = signal(0);
export const totals = signal<Totals | undefined>(undefined);
export const problems = signal<readonly ProblemEntry[]>([]);
export const decisions = signal<readonly DecisionEntry[]>([]);
export const labelKeys = signal<readonly string[]>([]);
export const cluster = signal({ name: "", version: "", historyHours: 24 });
export const syncing = signal<readonly string[]>([]);
/** The time of the cluster at the last message, and when that message came by this machine's clock. */
export const heard = signal({ at: 0, here: 0, silence: null as number | null });
export const connection = signal<Connection>({ state: "connecting" });
/** Advances once a second, for ages. */
export const tick = signal(performance.now());

export const colorMode = signal<ColorMode>("class");
const RACK = "joulie.io/rack";
/** The label that the reader chose; empty for no groups, undefined before a choice. */
export const chosenGroup = signal<string | undefined>(undefined);
/** The label that groups the nodes; empty for none. */
export const groupKey = computed(() => {
  const chosen = chosenGroup.value;
  const keys = labelKeys.value;
  if (chosen === "" || (chosen !== undefined && keys.includes(chosen))) return chosen;
  return keys.includes(RACK) ? RACK : (keys[0] ?? "");
});
const labelColumn = signal<LabelColumn | undefined>(undefined);
/** The values of that label; undefined without groups, and until they are read. */
export const groups = computed(() => {
  const column = labelColumn.value;
  return column?.key === groupKey.value ? column : undefined;
});
export const filterText = signal("");
export const view = signal<"map" | "table">("map");
export const selected = signal<string | undefined>(undefined);
export const hours = signal(1);
export const history = signal<HistoryAnswer | undefined>(undefined);
export const savings = signal<SavingsAnswer | undefined>(undefined);
/** Of the last hours; undefined = since the account began. */
export const savingsHours = signal<number | undefined>(undefined);
export const theme = signal<"light" | "dark" | "auto">(
  (localStorage.getItem("joulie-theme") as "light" | "dark" | null) ?? "auto",
);
export const isDark = signal(false);

const DECISIONS_LIMIT = 200;

const live = new Live({
  snapshot: (snapshot) =>
    batch(() => {
      fleet.load(snapshot);
      totals.value = snapshot.totals;
      problems.value = snapshot.problems;
      decisions.value = snapshot.decisions;
      labelKeys.value = snapshot.labelKeys;
      syncing.value = snapshot.syncing;
      cluster.value = { name: snapshot.cluster, version: snapshot.version, historyHours: snapshot.historyHours };
      topology.value = snapshot.topology;
      hear(snapshot);
      version.value++;
      void loadHistory();
    }),
  delta: (delta) => {
    if (!fleet.apply(delta)) return false;
    batch(() => {
      totals.value = delta.totals;
      if (delta.problems !== undefined) problems.value = delta.problems;
      if (delta.labelKeys !== undefined) labelKeys.value = delta.labelKeys;
      if (delta.syncing !== undefined) syncing.value = delta.syncing;
      if (delta.decisions !== undefined)
        decisions.value = [...decisions.value, ...delta.decisions].slice(-DECISIONS_LIMIT);
      topology.value = fleet.topology;
      hear(delta);
      version.value++;
    });
    return true;
  },
  beat: hear,
  alive: () => {
    if (connection.value.state !== "live") connection.value = { state: "live" };
  },
  lost: (reason) => {
    const { value } = connection;
    if (value.state !== "lost") connection.value = { state: "lost", reason, since: performance.now() };
  },
  login: (reason) => {
    connection.value = { state: "login", reason };
  },
});

function hear({ at, silence }: { readonly at: number; readonly silence: number | null }): void {
  heard.value = { at, here: performance.now(), silence };
}

export function logIn(text: string): void {
  token.set(text);
  connection.value = { state: "connecting" };
  live.retry();
}

const collator = new Intl.Collator("en", { numeric: true });
/** All nodes by name. Sorting thousands of names takes longer than a frame, so it waits for a change of the nodes. */
const ordered = computed<readonly number[]>(() => {
  void topology.value;
  return fleet.slots().toSorted((one, other) => collator.compare(fleet.names[one] ?? "", fleet.names[other] ?? ""));
});

/** The slots of the nodes that the filter lets through, in the order of their names. */
export const visible = computed<readonly number[]>(() => {
  const all = ordered.value;
  if (filterText.value.trim() === "") return all;
  // Subscribes to changes of the fleet, which is not a signal itself.
  void version.value;
  return all.filter(filterOf(filterText.value, fleet, groups.value));
});

let labelRequest = 0;
let labelAnswer = 0;

let historyRequest = 0;
let historyReadAt = 0;
async function loadHistory(): Promise<void> {
  const request = ++historyRequest;
  const answer = await get<HistoryAnswer>(`/api/history?hours=${hours.value}`).catch(() => undefined);
  if (answer === undefined || request !== historyRequest) return;
  historyReadAt = performance.now();
  history.value = answer;
}

async function loadSavings(): Promise<void> {
  const length = savingsHours.value;
  const query = length === undefined ? "" : `?hours=${length}`;
  const answer = await get<SavingsAnswer>(`/api/savings${query}`).catch(() => undefined);
  if (answer !== undefined && length === savingsHours.value) savings.value = answer;
}

const HISTORY_EVERY = 5000;

/** What Prometheus has changes once per step, and asking it for a month is expensive. */
function isHistoryDue(): boolean {
  const { source, step } = history.peek() ?? {};
  return source !== "prometheus" || performance.now() - historyReadAt >= Number(step);
}

/** Starts everything that runs as long as the page. */
export function startStore(): void {
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  effect(() => {
    isDark.value = theme.value === "dark" || (theme.value === "auto" && scheme.matches);
    document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
    if (theme.value !== "auto") localStorage.setItem("joulie-theme", theme.value);
  });
  scheme.addEventListener("change", () => {
    if (theme.value === "auto") isDark.value = scheme.matches;
    document.documentElement.dataset["theme"] = isDark.value ? "dark" : "light";
  });
  effect(() => {
    const key = groupKey.value;
    // Read again when nodes or labels change.
    const wanted = topology.value;
    if (key === "" || wanted === 0) return;
    const request = ++labelRequest;
    void get<LabelColumn>(`/api/labels?key=${encodeURIComponent(key)}`)
      .then((column) => {
        // An answer that an older request gets later has the values of an older topology.
        if (request < labelAnswer) return;
        labelAnswer = request;
        labelColumn.value = column;
      })
      .catch(() => undefined);
  });
  effect(() => {
    void hours.value;
    if (connection.peek().state === "live") void loadHistory();
  });
  effect(() => {
    void savingsHours.value;
    if (connection.peek().state === "live") void loadSavings();
  });
  setInterval(() => (tick.value = performance.now()), 1000);
  setInterval(() => {
    if (connection.value.state !== "live" || document.hidden) return;
    if (isHistoryDue()) void loadHistory();
    void loadSavings();
  }, HISTORY_EVERY);
  void live.run();
  setTimeout(() => void loadSavings(), 1500);
}

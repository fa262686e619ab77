import { useSignal } from "@preact/signals";
import { stateNames } from "../../src/programs/dashboard/wire.ts";
import { age, clock, kilowattHours, plural, watts } from "./format.ts";
import { classColors } from "./palette.ts";
import {
  cluster,
  connection,
  decisions,
  fleet,
  heard,
  isDark,
  problems,
  savings,
  selected,
  syncing,
  totals,
  version,
} from "./store.ts";

const open = (name: string) => () => (selected.value = name);
const NodeLink = ({ name }: { name: string }) => (
  <button type="button" class="link" dir="auto" onClick={open(name)}>
    {name}
  </button>
);

const LISTED = 6;

/** What is wrong, the worst first, with what helps. */
export function Problems() {
  const all = problems.value;
  const isComplete = syncing.value.length === 0 && totals.value !== undefined;
  return (
    <section class="panel problems" aria-labelledby="problems-title">
      <header>
        <h2 id="problems-title">Problems</h2>
        <span class="count">{all.length}</span>
      </header>
      {all.length === 0 && (
        <p class="good" role="status">
          {isComplete ? "No problem found." : `Reading ${syncing.value.join(", ") || "the cluster"} …`}
        </p>
      )}
      <ul>
        {all.map(({ severity, title, meaning, fix, nodes }) => (
          <li key={title} class={severity}>
            <details>
              <summary>
                <span class="severity">
                  {severity === "error" ? "Critical" : severity === "warning" ? "Warning" : "Notice"}
                </span>
                <span class="title">{title}</span>
              </summary>
              <p>{meaning}</p>
              <p>
                <code>{fix}</code>
              </p>
              {nodes.length > 0 && (
                <p class="node-list">
                  {nodes.slice(0, LISTED).map((name) => (
                    <NodeLink key={name} name={name} />
                  ))}
                  {nodes.length > LISTED && <span>and more</span>}
                </p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The figures at the top. */
export function Figures() {
  const now = totals.value;
  const report = savings.value;
  const theme = isDark.value ? "dark" : "light";
  const share = (part: number | null | undefined, whole: number | null | undefined) =>
    part === null || part === undefined || !whole ? 0 : Math.min(100, (100 * part) / whole);
  const classes = (["performance", "draining", "eco", "asleep", "unknown"] as const).map((name) => ({
    name,
    count: now?.byClass[["performance", "eco", "draining", "asleep", "unknown"].indexOf(name)] ?? 0,
  }));
  return (
    <section class="figures" aria-label="Cluster now">
      <div class="figure">
        <h2>Power now</h2>
        <p class="value" data-testid="power-now">
          {watts(now?.power)}
        </p>
        <div class="meter" aria-hidden="true">
          <span class="meter-cap" style={{ width: `${share(now?.cap, now?.capacity)}%` }} />
          <span class="meter-power" style={{ width: `${share(now?.power, now?.capacity)}%` }} />
        </div>
        <p class="detail">
          {watts(now?.cap)} allowed, {watts(now?.capacity)} capacity
        </p>
      </div>
      <div class="figure">
        <h2>Nodes</h2>
        <p class="value">{now?.nodes ?? "–"}</p>
        <div class="stack" aria-hidden="true">
          {classes.map(({ name, count }) => (
            <span key={name} style={{ flexGrow: count, background: classColors[name][theme] }} />
          ))}
        </div>
        <p class="detail">
          {classes
            .filter(({ count }) => count > 0)
            .map(({ name, count }) => `${count} ${name}`)
            .join(", ")}
        </p>
      </div>
      <div class="figure">
        <h2>Pods</h2>
        <p class="value">{now?.pods ?? "–"}</p>
        <p class="detail">{now === undefined ? "" : `${now.pendingPods} waiting for a node`}</p>
        <p class="detail">{now === undefined ? "" : `${now.measured} of ${plural(now.nodes, "node")} measured`}</p>
      </div>
      <div class="figure">
        <h2>Not used, by the model</h2>
        <p class="value">{report === undefined ? "–" : kilowattHours(report.notUsedKwh.estimate)}</p>
        <p class="detail">
          {report?.notUsedPct === null || report === undefined
            ? ""
            : `${report.notUsedPct.estimate.toFixed(1)} % (${report.notUsedPct.low.toFixed(1)} to ${report.notUsedPct.high.toFixed(1)} %)`}
        </p>
        <p class="detail">
          {report === undefined || report.from === null
            ? ""
            : `in ${age(report.from, report.to ?? report.from)}, an estimate`}
        </p>
      </div>
    </section>
  );
}

/** Nodes on their way to eco. */
export function Drains() {
  void version.value;
  const draining = fleet.slots().filter((slot) => fleet.classOf(slot) === "draining");
  return (
    <section class="panel" aria-labelledby="drains-title">
      <header>
        <h2 id="drains-title">Drains</h2>
        <span class="count">{draining.length}</span>
      </header>
      {draining.length === 0 && <p class="empty">No node is changing to eco.</p>}
      <ul class="rows">
        {draining.slice(0, 30).map((slot) => {
          const pods = fleet.value("performancePods", slot) ?? 0;
          return (
            <li key={slot}>
              <NodeLink name={fleet.names[slot] ?? ""} />
              <span>
                {pods === 0
                  ? "no performance pod is left, caps follow"
                  : `waiting for ${plural(pods, "performance pod")}, nothing is evicted`}
              </span>
            </li>
          );
        })}
      </ul>
      {draining.length > 30 && <p class="note">and {draining.length - 30} more</p>}
    </section>
  );
}

const stateWords: Readonly<Record<string, string>> = {
  on: "class asleep, not switched off yet",
  stopping: "shutting down",
  off: "off",
  waking: "waking up",
  failed: "did not come back: see its power switch",
};

export function Sleepers() {
  void version.value;
  const asleep = fleet.slots().filter((slot) => fleet.classOf(slot) === "asleep");
  return (
    <section class="panel" aria-labelledby="sleep-title">
      <header>
        <h2 id="sleep-title">Sleeping nodes</h2>
        <span class="count">{asleep.length}</span>
      </header>
      {asleep.length === 0 && <p class="empty">Every node is awake.</p>}
      <ul class="rows">
        {asleep.slice(0, 30).map((slot) => (
          <li key={slot}>
            <NodeLink name={fleet.names[slot] ?? ""} />
            <span>{stateWords[stateNames[fleet.value("state", slot) ?? 0] ?? "on"]}</span>
          </li>
        ))}
      </ul>
      {asleep.length > 30 && <p class="note">and {asleep.length - 30} more</p>}
    </section>
  );
}

const SHOWN = 60;

/** What Joulie decided, newest first, and why. */
export function Decisions() {
  const only = useSignal<"all" | "class" | "placement">("all");
  const shown = decisions.value
    .filter(({ kind }) => only.value === "all" || kind === only.value)
    .slice(-SHOWN)
    .toReversed();
  return (
    <section class="panel decisions" aria-labelledby="decisions-title">
      <header>
        <h2 id="decisions-title">Decisions</h2>
        <div class="segmented" role="group" aria-label="Kind of decision">
          {(["all", "class", "placement"] as const).map((kind) => (
            <button key={kind} type="button" aria-pressed={only.value === kind} onClick={() => (only.value = kind)}>
              {kind === "all" ? "All" : kind === "class" ? "Nodes" : "Pods"}
            </button>
          ))}
        </div>
      </header>
      {shown.length === 0 && <p class="empty">No decision since this dashboard started.</p>}
      <ol
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboards scroll it
        tabIndex={0}
        aria-label="Decisions, newest first"
      >
        {shown.map(({ id, at, subject, node, text, reason, kind }) => (
          <li key={id}>
            <time>{clock(at)}</time>
            <div>
              {kind === "class" && node !== null ? <NodeLink name={node} /> : <b dir="auto">{subject}</b>}{" "}
              <span dir="auto">{text}</span>
              <p dir="auto">{reason}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

export function Savings() {
  const report = savings.value;
  return (
    <section class="panel savings" aria-labelledby="savings-title">
      <header>
        <h2 id="savings-title">Savings</h2>
        <span class="badge">a model, not a measurement</span>
      </header>
      {report === undefined || report.from === null ? (
        <p class="empty">The account begins with the first readings.</p>
      ) : (
        <>
          <dl class="facts">
            <div>
              <dt>Used</dt>
              <dd>{kilowattHours(report.usedKwh)}</dd>
            </div>
            <div>
              <dt>Not used (estimate)</dt>
              <dd>
                {kilowattHours(report.notUsedKwh.estimate)} ({kilowattHours(report.notUsedKwh.low)} to{" "}
                {kilowattHours(report.notUsedKwh.high)})
              </dd>
            </div>
            {[...report.byCauseKwh, ...report.byClassKwh].map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{kilowattHours(value)}</dd>
              </div>
            ))}
            <div>
              <dt>Node time with a reading</dt>
              <dd>{report.coverage === null ? "–" : `${(100 * report.coverage).toFixed(0)} %`}</dd>
            </div>
          </dl>
          <details>
            <summary>Nodes that used most</summary>
            <ul class="rows">
              {report.topNodes.map(([name, used, notUsed]) => (
                <li key={name}>
                  <NodeLink name={name} />
                  <span>
                    {kilowattHours(used)} used, {kilowattHours(notUsed)} not used
                  </span>
                </li>
              ))}
            </ul>
          </details>
          <details>
            <summary>How this is computed</summary>
            <p>{report.method}</p>
            <p>{report.bias}</p>
          </details>
        </>
      )}
    </section>
  );
}

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

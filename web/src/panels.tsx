import { useSignal } from "@preact/signals";
import { age, kilowattHours, plural, watts } from "./format.ts";
import { NodeLink } from "./node-link.tsx";
import { classColors } from "./palette.ts";
import { isDark, problems, savings, syncing, totals } from "./store.ts";

const NODES_PER_PROBLEM = 6;

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
        {all.map(({ id, severity, title, meaning, fix, nodes }) => (
          <li key={id} class={severity}>
            <details open={severity !== "info"}>
              <summary>
                <span class="severity">
                  {severity === "error" ? "Critical" : severity === "warning" ? "Warning" : "Notice"}
                </span>
                <span class="title">{title}</span>
              </summary>
              <div class="help">
                <span>{meaning}</span>
                <span class="command">
                  <code>{fix}</code>
                  <CopyButton text={fix} />
                </span>
                <span class="node-list">
                  {nodes.slice(0, NODES_PER_PROBLEM).map((name) => (
                    <NodeLink key={name} name={name} />
                  ))}
                  {nodes.length > NODES_PER_PROBLEM && <span>and more</span>}
                </span>
              </div>
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
        {now !== undefined && now.withPower < now.expected && (
          <p class="detail" data-testid="readings">
            {`${now.withPower} of ${plural(now.expected, "node")} ${now.withPower === 1 ? "has" : "have"} a reading`}
          </p>
        )}
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
        <p class="detail">
          {now === undefined || now.pendingPods === null ? "" : `${now.pendingPods} waiting for a node`}
        </p>
        <p class="detail">{now === undefined ? "" : `${now.measured} of ${plural(now.nodes, "node")} measured`}</p>
      </div>
      <div class="figure">
        <h2>Saved (estimate)</h2>
        <p class="value" data-testid="not-used">
          {report?.coverage ? kilowattHours(report.notUsedKwh.estimate) : "–"}
        </p>
        <p class="detail">
          {report?.notUsedPct === null || !report?.coverage
            ? ""
            : `${report.notUsedPct.estimate.toFixed(1)} % (${report.notUsedPct.low.toFixed(1)} to ${report.notUsedPct.high.toFixed(1)} %)`}
        </p>
        <p class="detail">
          {!report?.coverage || report.from === null
            ? ""
            : `in ${age(report.from, report.to ?? report.from)}, an estimate`}
        </p>
      </div>
    </section>
  );
}

/** Copies a command. Browsers allow that only on https and localhost: elsewhere the text is selected for Ctrl-C. */
function CopyButton({ text }: { text: string }) {
  const outcome = useSignal("Copy");
  const copy = async (button: HTMLButtonElement): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      outcome.value = "Copied";
    } catch {
      const code = button.parentElement?.querySelector("code");
      if (code) getSelection()?.selectAllChildren(code);
      outcome.value = "Selected";
    }
  };
  return (
    <button type="button" class="copy" aria-label={`Copy ${text}`} onClick={(event) => void copy(event.currentTarget)}>
      <span aria-live="polite">{outcome.value}</span>
    </button>
  );
}

import { useSignal } from "@preact/signals";
import { clock } from "./format.ts";
import { NodeLink } from "./node-link.tsx";
import { decisions } from "./store.ts";

const DECISIONS_LIMIT = 60;

/** What Joulie decided, newest first, and why. */
export function Decisions() {
  const only = useSignal<"all" | "class" | "placement">("all");
  const listed = decisions.value
    .filter(({ kind }) => only.value === "all" || kind === only.value)
    .slice(-DECISIONS_LIMIT)
    .toReversed();
  if (decisions.value.length === 0) return null;
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
      {listed.length === 0 && <p class="empty">No decision of this kind since this dashboard started.</p>}
      <ol
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboards scroll it
        tabIndex={0}
        aria-label="Decisions, newest first"
      >
        {listed.map(({ id, at, subject, node, text, reason, kind }) => (
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

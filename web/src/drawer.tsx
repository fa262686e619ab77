import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type NodeAnswer, stateNames } from "../../src/programs/dashboard/wire.ts";
import { ApiFailure, get } from "./api.ts";
import { age, percent, plural, watts } from "./format.ts";
import { classColors } from "./palette.ts";
import { ScoreForm } from "./score-form.tsx";
import { Sparkline } from "./sparkline.tsx";
import { fleet, isDark, selected, version } from "./store.ts";

const REFRESH = 3000;

/** Everything about one node, beside the map. */
export function Drawer() {
  const name = selected.value;
  return name === undefined ? null : <NodeDrawer key={name} name={name} />;
}

function NodeDrawer({ name }: { name: string }) {
  const answer = useSignal<NodeAnswer | undefined>(undefined);
  const failure = useSignal("");
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<Element | null>(null);

  // Before the drawer is painted, so that no key is lost. Escape closes it wherever the focus is.
  useLayoutEffect(() => {
    opener.current = document.activeElement;
    box.current?.focus();
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape") selected.value = undefined;
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      if (opener.current instanceof HTMLElement) opener.current.focus();
    };
  }, []);
  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      try {
        answer.value = await get<NodeAnswer>(`/api/node/${encodeURIComponent(name)}`, abort.signal);
        failure.value = "";
      } catch (error) {
        if (abort.signal.aborted) return;
        const gone = error instanceof ApiFailure && error.status === 404;
        failure.value = gone ? "This node has left the cluster." : "The details cannot be read now; trying again.";
      }
    };
    void load();
    const timer = setInterval(() => void load(), REFRESH);
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, []);

  void version.value;
  const close = () => (selected.value = undefined);
  const slot = fleet.slotOf(name);
  const kind = slot < 0 ? "unknown" : fleet.classOf(slot);
  const value = (column: Parameters<typeof fleet.value>[0]) => (slot < 0 ? null : fleet.value(column, slot));
  const found = answer.value;
  return (
    <div ref={box} class="drawer" role="dialog" aria-labelledby="drawer-title" tabIndex={-1}>
      <header>
        <div>
          <h2 id="drawer-title" dir="auto">
            {name}
          </h2>
          <p>
            <span
              class="swatch"
              style={{ background: classColors[kind][isDark.value ? "dark" : "light"] }}
              aria-hidden="true"
            />
            {kind}
            {value("pinned") === 1 && ", pinned"}
            {value("ready") === 0 && ", not ready"}
          </p>
        </div>
        <button type="button" onClick={close} aria-label="Close details">
          ✕
        </button>
      </header>
      {failure.value !== "" && (
        <p class="note" role="alert">
          {failure.value}
        </p>
      )}
      <p class="reason" dir="auto">
        {found?.reason}
      </p>
      <dl class="facts">
        <Fact name="Power" text={watts(value("power"))} />
        <Fact name="Cap" text={watts(value("cap"))} />
        <Fact name="Uncapped" text={watts(value("tdp"))} />
        <Fact name="Used of the cap" text={percent(slot < 0 ? null : fleet.usedPercent(slot))} />
        <Fact name="Cooling stress now" text={percent(value("cooling"))} />
        <Fact name="Cooling at the cap (forecast)" text={percent(value("coolingAtCap"))} />
        <Fact name="Supply in use" text={percent(value("psu"))} />
        {found?.target.map(([fact, text]) => (
          <Fact key={fact} name={fact} text={text} />
        ))}
      </dl>
      {found !== undefined && <Details found={found} />}
      {found === undefined && failure.value === "" && <Loading of="the node" />}
    </div>
  );
}

const Fact = ({ name, text }: { name: string; text: string }) => (
  <div>
    <dt>{name}</dt>
    <dd dir="auto">{text}</dd>
  </div>
);

function Details({ found }: { found: NodeAnswer }) {
  const slot = fleet.slotOf(found.name);
  const isOff = slot >= 0 && stateNames[fleet.value("state", slot) ?? 0] === "off";
  return (
    <>
      <h3>Last 24 hours</h3>
      <Sparkline history={found.history} />
      <h3>Receipts of the agent</h3>
      {found.receipts.length === 0 && (
        <p class="empty">{isOff ? "The node is off: no cap is applied." : "No agent has reported."}</p>
      )}
      <ul class="receipts">
        {found.receipts.map(({ device, result, backend, message, at, watts: drawn }) => (
          <li key={device} class={result}>
            <b>{device}</b> <span class="result">{result}</span>
            {backend !== null && ` by ${backend}`}
            {drawn !== null && `, ${watts(drawn)} drawn`}
            <span class="when">{at === null ? "no time given" : `${age(at, found.at)} ago`}</span>
            {message !== null && <p dir="auto">{message}</p>}
          </li>
        ))}
      </ul>
      <h3>{found.pods === null ? "Pods unknown" : plural(found.pods.length + found.morePods, "pod")}</h3>
      {found.pods !== null && found.pods.length > 0 && (
        <table class="pods">
          <thead>
            <tr>
              <th scope="col">Pod</th>
              <th scope="col">Class</th>
              <th scope="col" class="number">
                CPUs
              </th>
              <th scope="col" class="number">
                GPUs
              </th>
              <th scope="col">Age</th>
            </tr>
          </thead>
          <tbody>
            {found.pods.map((pod) => (
              <tr key={`${pod.namespace}/${pod.name}`}>
                <td dir="auto">
                  {pod.namespace}/{pod.name}
                </td>
                <td>{pod.workloadClass}</td>
                <td class="number">{Math.round(pod.cpus * 10) / 10}</td>
                <td class="number">{pod.gpus}</td>
                <td title={pod.startedAt === null ? undefined : new Date(pod.startedAt).toLocaleString()}>
                  {pod.startedAt === null ? pod.phase : age(pod.startedAt, found.at)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {found.morePods > 0 && <p class="note">and {found.morePods} more</p>}
      <ScoreForm node={found.name} resources={found.gpuResources} />
      <details>
        <summary>Hardware</summary>
        <dl class="facts">
          {found.hardware.map(([name, text]) => (
            <Fact key={name} name={name} text={text} />
          ))}
        </dl>
      </details>
      <details>
        <summary>{plural(found.labels.length, "label")}</summary>
        <dl class="facts labels">
          {found.labels.map(([name, text]) => (
            <Fact key={name} name={name} text={text} />
          ))}
        </dl>
      </details>
    </>
  );
}

/** Stands where data will be, until the first answer. */
export const Loading = ({ of }: { of: string }) => (
  <p class="loading" role="status">
    Reading {of} …
  </p>
);

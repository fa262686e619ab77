import { stateNames } from "../../src/programs/dashboard/wire.ts";
import { plural } from "./format.ts";
import { NodeLink } from "./node-link.tsx";
import { fleet, version } from "./store.ts";

const NAMES_LIMIT = 30;

/** Nodes on their way to eco. */
export function Drains() {
  void version.value;
  const draining = fleet.slots().filter((slot) => fleet.classOf(slot) === "draining");
  if (draining.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="drains-title">
      <header>
        <h2 id="drains-title">Drains</h2>
        <span class="count">{draining.length}</span>
      </header>
      <ul class="rows">
        {draining.slice(0, NAMES_LIMIT).map((slot) => {
          const pods = fleet.value("performancePods", slot);
          return (
            <li key={slot}>
              <NodeLink name={fleet.names[slot] ?? ""} />
              <span>
                {pods === 0
                  ? "no performance pod is left, caps follow"
                  : `waiting for ${pods === null ? "its performance pods" : plural(pods, "performance pod")}, nothing is evicted`}
              </span>
            </li>
          );
        })}
      </ul>
      {draining.length > NAMES_LIMIT && <p class="note">and {draining.length - NAMES_LIMIT} more</p>}
    </section>
  );
}

const stateWords: Readonly<Record<string, string>> = {
  failed: "did not come back: see their power switches",
  waking: "waking up",
  on: "not switched off yet",
  stopping: "shutting down",
  off: "off",
};

/** By what they do, with names in one flow: half of a large cluster may sleep. */
export function Sleepers() {
  void version.value;
  const asleep = fleet.slots().filter((slot) => fleet.classOf(slot) === "asleep");
  if (asleep.length === 0) return null;
  const byState = Object.entries(stateWords).map(([state, words]) => ({
    words,
    names: asleep
      .filter((slot) => (stateNames[fleet.value("state", slot) ?? 0] ?? "on") === state)
      .map((slot) => fleet.names[slot] ?? "")
      .toSorted(),
  }));
  return (
    <section class="panel" aria-labelledby="sleep-title">
      <header>
        <h2 id="sleep-title">Sleeping nodes</h2>
        <span class="count">{asleep.length}</span>
      </header>
      {byState
        .filter(({ names }) => names.length > 0)
        .map(({ words, names }) => (
          <div key={words} class="sleepers">
            <h3>
              {names.length} {words}
            </h3>
            <p class="node-list">
              {names.slice(0, NAMES_LIMIT).map((name) => (
                <NodeLink key={name} name={name} />
              ))}
              {names.length > NAMES_LIMIT && <span>and {names.length - NAMES_LIMIT} more</span>}
            </p>
          </div>
        ))}
    </section>
  );
}

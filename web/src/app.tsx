import { useSignal } from "@preact/signals";
import { Decisions } from "./decisions-panel.tsx";
import { Drawer, Loading } from "./drawer.tsx";
import { FleetMap } from "./fleet-map.tsx";
import { age } from "./format.ts";
import { Drains, Sleepers } from "./node-panels.tsx";
import { NodeTable } from "./node-table.tsx";
import { classColors, inkOn, legendRamp, modes, UNKNOWN_COLOR } from "./palette.ts";
import { Figures, Problems } from "./panels.tsx";
import { PowerPlot } from "./power-plot.tsx";
import { Savings } from "./savings-panel.tsx";
import {
  type ColorMode,
  chosenGroup,
  cluster,
  colorMode,
  connection,
  filterText,
  groupKey,
  heard,
  isDark,
  labelKeys,
  logIn,
  syncing,
  theme,
  tick,
  totals,
  view,
  visible,
} from "./store.ts";

export function App() {
  return (
    <>
      <a class="skip" href="#fleet">
        Skip to the fleet
      </a>
      <Header />
      {connection.value.state === "login" ? <Login reason={connection.value.reason} /> : <Page />}
    </>
  );
}

function Page() {
  if (totals.value === undefined)
    return (
      <main>
        <Loading of="the cluster" />
      </main>
    );
  return (
    <main>
      <div class="main-column">
        <Figures />
        <Problems />
        <PowerPlot />
        <FleetPanel />
        <Savings />
      </div>
      <div class="side-column">
        <Decisions />
        <Drains />
        <Sleepers />
      </div>
      <Drawer />
    </main>
  );
}

function Header() {
  const { level, text } = statusText(tick.value);
  return (
    <header class="top">
      <h1>
        <img src="/icon.svg" alt="" width="22" height="22" /> Joulie
      </h1>
      <span class="cluster">{clusterName()}</span>
      <p class={`status ${level}`} role="status" data-testid="status">
        {text}
      </p>
      <button
        type="button"
        onClick={() => (theme.value = isDark.value ? "light" : "dark")}
        aria-label={isDark.value ? "Use the light theme" : "Use the dark theme"}
      >
        {isDark.value ? "Light" : "Dark"}
      </button>
      <span class="version">{cluster.value.version === "" ? "" : `v${cluster.value.version}`}</span>
    </header>
  );
}

function Login({ reason }: { reason: string }) {
  const text = useSignal("");
  return (
    <main class="login">
      <h2>A token is needed</h2>
      <p role="alert">{reason}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          logIn(text.value);
        }}
      >
        <label>
          Bearer token
          <input
            type="password"
            autocomplete="off"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </label>
        <button type="submit">Open the dashboard</button>
      </form>
      <p class="note">
        For example the output of <code>kubectl create token</code>. It stays in this tab and is forgotten when the tab
        is closed.
      </p>
    </main>
  );
}

function FleetPanel() {
  const total = totals.value?.nodes ?? 0;
  return (
    <section class="panel fleet" id="fleet" aria-labelledby="fleet-title">
      <header>
        <h2 id="fleet-title">Fleet</h2>
        <span class="count" data-testid="shown">
          {visible.value.length === total ? total : `${visible.value.length} of ${total}`}
        </span>
        <div class="tools">
          <label>
            Filter
            <input
              type="search"
              placeholder="name, class:eco, gpu, -word"
              value={filterText.value}
              onInput={(event) => (filterText.value = event.currentTarget.value)}
            />
          </label>
          <label>
            Group by
            <select value={groupKey.value} onChange={(event) => (chosenGroup.value = event.currentTarget.value)}>
              <option value="">nothing</option>
              {labelKeys.value.map((key) => (
                <option key={key} value={key}>
                  {key}
                </option>
              ))}
            </select>
          </label>
          <label>
            Colour by
            <select
              value={colorMode.value}
              onChange={(event) => (colorMode.value = event.currentTarget.value as ColorMode)}
            >
              {Object.entries(modes).map(([mode, { title }]) => (
                <option key={mode} value={mode}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          <div class="segmented" role="group" aria-label="View">
            {(["map", "table"] as const).map((one) => (
              <button key={one} type="button" aria-pressed={view.value === one} onClick={() => (view.value = one)}>
                {one === "map" ? "Map" : "Table"}
              </button>
            ))}
          </div>
        </div>
      </header>
      {view.value === "map" ? (
        <>
          <Legend />
          <FleetMap />
        </>
      ) : (
        <NodeTable />
      )}
    </section>
  );
}

function Legend() {
  const mode = colorMode.value;
  const shade = isDark.value ? "dark" : "light";
  if (mode === "class")
    return (
      <ul class="legend" aria-label="Colours of the map">
        {Object.entries(classColors).map(([name, color]) => (
          <li key={name}>
            <span
              class="swatch lettered"
              style={{ background: color[shade], color: inkOn(color[shade]) }}
              aria-hidden="true"
            >
              {color.letter}
            </span>
            {name}
          </li>
        ))}
      </ul>
    );
  const { low, high } = modes[mode];
  return (
    <ul class="legend" aria-label="Colours of the map">
      <li>
        {low}
        <span class="ramp" aria-hidden="true">
          {legendRamp().map((color) => (
            <span key={color} style={{ background: color }} />
          ))}
        </span>
        {high}
      </li>
      <li>
        <span class="swatch" style={{ background: UNKNOWN_COLOR[shade] }} aria-hidden="true" />
        unknown
      </li>
    </ul>
  );
}

/** The state of the connection in words, with the age of the data. */
function statusText(now: number): { readonly level: "good" | "warn" | "bad"; readonly text: string } {
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

const clusterName = (): string => cluster.value.name.replace(/^https?:\/\//, "");

// Runs agents in this process on machines of files, against a real control plane.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiVersion, labels, type NodeTwin, type TelemetryProfile } from "../../src/core/api/index.ts";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually, eventuallyPasses } from "../../src/platform/clock/testing/index.ts";
import { parseConfig } from "../../src/platform/config/index.ts";
import { journalFiles } from "../../src/platform/journal/index.ts";
import { createLogger } from "../../src/platform/log/index.ts";
import { systemRandom } from "../../src/platform/random/index.ts";
import { agentConfig } from "../../src/programs/agent/config.ts";
import { hostRoots, openHost } from "../../src/programs/agent/host/open-host.ts";
import { runAgent } from "../../src/programs/agent/start.ts";
import { createMachineFiles, drawPower, gpuFile, limitFile, maximumFile } from "../agent/machine-files.ts";
import { reach } from "../contract/reach.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import type { ClusterIdentity } from "../controlplane/identities.ts";

export const twins = `/apis/${apiVersion}/nodetwins`;
export const routes = `/apis/${apiVersion}/telemetryprofiles`;
export const hardwares = `/apis/${apiVersion}/nodehardwares`;
const shape = { cpus: 8, packages: 2, gpus: 2 };
const applied = "application/apply-patch+yaml";

/** A server as a directory of files, with a STATE_DIR. */
export class FileMachine {
  readonly folder = mkdtempSync(join(tmpdir(), "joulie-agent-machine-"));
  #stopDrawing = (): void => undefined;

  constructor() {
    createMachineFiles(this.folder, shape);
  }

  get variables(): Readonly<Record<string, string>> {
    return {
      HOST_SYS_ROOT: join(this.folder, "sys"),
      HOST_PROC_ROOT: join(this.folder, "proc"),
      STATE_DIR: join(this.folder, "state"),
    };
  }

  /** Limits of packages and GPUs in watts, and the number of throttled policies. */
  get limits(): string {
    const watts = (file: string) => Number(readFileSync(join(this.folder, "sys", file), "utf8")) / 1e6;
    const slow = Array.from({ length: shape.cpus }, (_, cpu) =>
      Number(readFileSync(join(this.folder, "sys", maximumFile(cpu)), "utf8")),
    ).filter((maximum) => maximum < 3_000_000).length;
    return (
      [...[0, 1].map(limitFile), ...[0, 1].map(gpuFile)].map(watts).join(" ") + (slow === 0 ? "" : ` slow ${slow}`)
    );
  }

  async waitForLimits(limits: string): Promise<void> {
    await eventuallyPasses(() => {
      if (this.limits !== limits) throw new Error(`the limits are ${this.limits} instead of ${limits}`);
    });
  }

  /** Sets the power of each package from now on. */
  draw(watts: number): void {
    this.#stopDrawing();
    this.#stopDrawing = drawPower(this.folder, shape, watts);
  }

  remove(): void {
    this.#stopDrawing();
    rmSync(this.folder, { recursive: true, maxRetries: 3 });
  }
}

/** The limits of a new machine. */
export const ORIGINAL = "350 340 750 740";

export class AgentClusterHarness {
  readonly #plane: ControlPlane;
  readonly #running: (() => Promise<void>)[] = [];
  readonly #machines: FileMachine[] = [];

  constructor(plane: ControlPlane) {
    this.#plane = plane;
  }

  machine(): FileMachine {
    const machine = new FileMachine();
    this.#machines.push(machine);
    return machine;
  }

  /** Starts an agent with the given identity and a short interval. */
  start(identity: ClusterIdentity, variables: Readonly<Record<string, string>>) {
    const env = { METRICS_ADDR: "127.0.0.1:0", RECONCILE_INTERVAL: "1s", ...variables };
    const parsed = parseConfig(agentConfig, { env, flags: {}, machine: { isTerminal: false, exists: () => false } });
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.problems));
    const config = parsed.value.values;
    const logs: string[] = [];
    const log = createLogger({ level: "info", program: "agent", destination: { write: (line) => logs.push(line) } });
    const transport = reach(identity.server, identity.token, identity.ca);
    const over = new AbortController();
    const done = runAgent(
      config,
      {
        transport,
        clock: systemClock,
        ioClock: systemClock,
        random: systemRandom,
        log,
        openHost: async (catalogue) => openHost(config, hostRoots(config), systemClock, catalogue),
        journalFiles: journalFiles(config.STATE_DIR),
      },
      over.signal,
    );
    const stop = async () => {
      over.abort(new Error("the test is over"));
      await done;
      await transport.close();
    };
    this.#running.push(stop);
    return {
      logs,
      stop,
      page: async (path: string, headers: Readonly<Record<string, string>> = {}) => {
        const url = await eventually(() => /"url":"([^"]+)"/.exec(logs.join(""))?.[1]);
        return (await fetch(new URL(path, url), { headers })).text();
      },
    };
  }

  async node(name: string): Promise<void> {
    await this.#plane.createNodes([name], { labels: { [labels.managed]: "true" } });
  }

  /** Writes what an operator writes: a target and its fields of the status. */
  async target(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const as = "?fieldManager=joulie-operator&force=true";
    const metadata = { name };
    const all = { nodeName: name, profile: "eco", policy: { name: "static_partition" }, ...spec };
    const { api } = this.#plane;
    await api.text("PATCH", `${twins}/${name}${as}`, { apiVersion, kind: "NodeTwin", metadata, spec: all }, applied);
    const status = { schedulableClass: "eco", predictedPowerHeadroomScore: 42 };
    await api.text(
      "PATCH",
      `${twins}/${name}/status${as}`,
      { apiVersion, kind: "NodeTwin", metadata, status },
      applied,
    );
  }

  async route(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    const body = { apiVersion, kind: "TelemetryProfile", metadata: { name }, spec };
    await this.#plane.api.text("PATCH", `${routes}/${name}?fieldManager=a-user&force=true`, body, applied);
  }

  async twin(name: string): Promise<NodeTwin> {
    return this.#plane.api.get<NodeTwin & { metadata: { name: string; uid: string } }>(`${twins}/${name}`);
  }

  async profile(name: string): Promise<TelemetryProfile> {
    return this.#plane.api.get<TelemetryProfile & { metadata: { name: string; uid: string } }>(`${routes}/${name}`);
  }

  /** Waits for a backend and result, such as `rapl applied`. */
  async waitForStatus(name: string, device: "cpu" | "gpu", expected: string): Promise<NodeTwin> {
    return eventuallyPasses(async () => {
      const twin = await this.twin(name);
      const { backend, result, message } = twin.status?.controlStatus?.[device] ?? {};
      if (`${backend} ${result}` !== expected) throw new Error(`the status is ${backend} ${result}: ${message}`);
      return twin;
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.splice(0).map(async (stop) => stop()));
    for (const machine of this.#machines.splice(0)) machine.remove();
    const { api } = this.#plane;
    for (const path of ["/api/v1/nodes", twins, routes, hardwares]) {
      const { items } = await api.get<{ items: { metadata: { name: string } }[] }>(path);
      for (const { metadata } of items) await api.text("DELETE", `${path}/${metadata.name}`).catch(() => "");
    }
  }
}

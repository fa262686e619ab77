// Runs every command of the guides for administrators on a real node, in the order in which an administrator would.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { createMachineFiles, differences, drawPower, readTree } from "../agent/machine-files.ts";
import { blocks, commandRunner, type RunCommands } from "./guide-commands.ts";
import { type RealNode, startRealNode } from "./node.ts";

const root = join(import.meta.dirname, "../..");
const guide = (name: string): string => readFileSync(join(root, `docs/guides/${name}.md`), "utf8");
const install = guide("install");
/** Guides for an administrator who has installed Joulie. */
const others = ["upgrade", "security", "troubleshooting", "hardware", "faq"].map(guide);

const commands = (...texts: readonly string[]): string => texts.flatMap((text) => blocks(text, "sh")).join("\n");
const shape = { cpus: 8, packages: 2, gpus: 0 };

/** The guide has work for the administrator between its commands: kube-scheduler's configuration. */
function parts(): readonly [string, string, string] {
  const connect = install.indexOf("Give this file to kube-scheduler");
  const disconnect = install.indexOf("First remove the extender");
  expect(connect).toBeGreaterThan(0);
  expect(disconnect).toBeGreaterThan(connect);
  return [
    commands(install.slice(0, connect)),
    commands(install.slice(connect, disconnect), ...others),
    commands(install.slice(disconnect)),
  ];
}

describe("the guides for administrators", () => {
  let node: RealNode;
  let folder: string;
  let runCommands: RunCommands;
  let stopDrawing: () => void;
  let original: ReadonlyMap<string, string>;
  const sys = () => join(folder, "sys");
  const schedulerFile = () => join(folder, "joulie-scheduler.yaml");

  beforeAll(async () => {
    node = await startRealNode();
    folder = join(node.folder, "guide");
    mkdirSync(folder);
    createMachineFiles(folder, shape);
    original = readTree(sys());
    // The guide's machine has real packages, which draw power.
    stopDrawing = drawPower(folder, shape, 100);
    await node.tagImage("localhost/pause:1", "registry.k8s.io/pause:3.10");
    runCommands = await commandRunner(node, folder);
    // The guide's values, and a copy of sysfs in place of the machine's own.
    const [values = ""] = blocks(install, "yaml");
    const host = { sysPath: sys(), procPath: join(folder, "proc"), statePath: join(folder, "state") };
    const env = { RECONCILE_INTERVAL: "2s" };
    const own = { ...(parse(values) as object), agent: { host, env }, operator: { env } };
    writeFileSync(join(folder, "my-values.yaml"), stringify(own));
  });
  afterAll(async () => {
    stopDrawing();
    await node?.stop();
  });

  const run = async (script: string): Promise<string> =>
    runCommands(
      script
        .replaceAll("my-values.yaml", join(folder, "my-values.yaml"))
        .replaceAll("joulie-scheduler.yaml", schedulerFile()),
    );

  it("lead to watts and a proven cap, with every command as written", async () => {
    const output = await run(parts()[0]);
    expect(output).toMatch(/"message":"210 W per package.*"result":"applied"/);
    expect(differences(readTree(sys()), original)).not.toEqual([]);
  }, 300_000);

  it("lead to placement by power, undo it, upgrade, roll back and look around", async () => {
    await node.schedule(parse(readFileSync(schedulerFile(), "utf8")) as Record<string, unknown>);
    const output = await run(parts()[1]);
    expect(output).toMatch(/FailedScheduling.*eco/);
    expect(output).toContain("Rollback was a success");
    expect(differences(readTree(sys()), original)).toEqual([]);
  }, 600_000);

  it("lead to a cluster as it was before", async () => {
    await node.schedule({});
    expect(await run(parts()[2])).toContain('namespace "joulie-system" deleted');
    expect(differences(readTree(sys()), original)).toEqual([]);
    const { metadata } = await node.api.get<{ metadata: { labels: Record<string, string> } }>(
      `/api/v1/nodes/${node.name}`,
    );
    expect(Object.keys(metadata.labels).filter((label) => label.startsWith("joulie.io/"))).toEqual([]);
    const { stdout } = await node.kubectl(["get", "clusterroles,clusterrolebindings,crds,validatingadmissionpolicies"]);
    expect(stdout).not.toContain("joulie");
  }, 300_000);

  it("have no command outside of the blocks that this test runs", () => {
    const all = commands(install, ...others);
    const inline = [install, ...others].flatMap((text) =>
      [...text.replaceAll(/^```.*?^```/gms, "").matchAll(/`((?:kubectl|helm)(?: [^`\s]+){2,})`/g)].map(
        ([, command = ""]) => command,
      ),
    );
    expect(inline.filter((command) => !all.includes(command))).toEqual([]);
  });

  it("have the commands of the README", () => {
    const readme = readFileSync(join(root, "README.md"), "utf8").split("\n## Install\n")[1] ?? "";
    const lines = (blocks(readme, "")[0] ?? "").replaceAll(" NODE ", ' "$NODE" ').trim().split("\n");
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => !commands(install).split("\n").includes(line))).toEqual([]);
  });
});

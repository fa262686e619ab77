// Runs every command of the guides for administrators, in one shell, on a real node.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { addEnergy, createMachineFiles, differences, readTree } from "../agent/machine-files.ts";
import { buildControlPlane } from "../controlplane/build.ts";
import { buildHelm } from "../controlplane/helm.ts";
import { type RealNode, startRealNode } from "./node.ts";

const root = join(import.meta.dirname, "../..");
const guide = (name: string): string => readFileSync(join(root, `docs/guides/${name}.md`), "utf8");
const install = guide("install");
const uninstall = install.indexOf("## 7. Uninstall");
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, block = ""]) => block);
const shape = { cpus: 8, packages: 2, gpus: 0 };

describe("the guides to install, upgrade, security and hardware", () => {
  let node: RealNode;
  let folder: string;
  let drawing: NodeJS.Timeout;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "joulie-guide-"));
    createMachineFiles(folder, shape);
    // The guide's machine has real packages, which draw power.
    drawing = setInterval(() => addEnergy(folder, shape, 100, 1), 1000);
    node = await startRealNode();
  });
  afterAll(async () => {
    clearInterval(drawing);
    await node?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("leads to a cap and back, with every command as written", async () => {
    const sys = join(folder, "sys");
    const original = readTree(sys);
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const built = await buildControlPlane();
    if (!built.available) throw new Error(built.reason);
    tool(join(bin, "kubectl"), `${built.path} kubectl`);
    tool(join(bin, "helm"), await buildHelm());
    // The guide's values, and a copy of sysfs in place of the machine's own.
    const [values = ""] = blocks(install, "yaml");
    const host = { sysPath: sys, procPath: join(folder, "proc"), statePath: join(folder, "state") };
    const file = join(folder, "my-values.yaml");
    const own = { ...(parse(values) as object), agent: { host, env: { RECONCILE_INTERVAL: "2s" } } };
    writeFileSync(file, stringify(own));
    // The other guides speak of an installed Joulie.
    const installed = ["upgrade", "security", "hardware"].map(guide);
    const script = [install.slice(0, uninstall), ...installed, install.slice(uninstall)]
      .flatMap((text) => blocks(text, "sh"))
      .join("\n")
      .replaceAll("my-values.yaml", file);
    const output = await shell(script, {
      PATH: `${bin}:${process.env["PATH"]}`,
      KUBECONFIG: node.admin.kubeconfig,
      HOME: folder,
      CONTAINERD_ADDRESS: join(node.folder, "containerd/c.sock"),
    });
    expect(output).toContain('"result":"applied"');
    expect(output).toContain("Rollback was a success");
    expect(output).toContain('namespace "joulie-system" deleted');
    expect(differences(readTree(sys), original)).toEqual([]);
    const { metadata } = await node.api.get<{ metadata: { labels: Record<string, string> } }>(
      `/api/v1/nodes/${node.name}`,
    );
    expect(Object.keys(metadata.labels).filter((label) => label.startsWith("joulie.io/"))).toEqual([]);
  }, 600_000);
});

function tool(path: string, command: string): void {
  writeFileSync(path, `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
}

async function shell(script: string, env: Readonly<Record<string, string>>): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("sh", ["-exc", `exec 2>&1\n${script}`], { cwd: root, env: { ...process.env, ...env } });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`the guide's commands ended with ${code}:\n${output.slice(-4000)}`));
    });
  });
}

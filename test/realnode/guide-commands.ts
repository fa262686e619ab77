// The commands of a guide, run by a shell as an administrator would.
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildControlPlane } from "../controlplane/build.ts";
import { buildHelm } from "../controlplane/helm.ts";
import type { RealNode } from "./node.ts";

const root = join(import.meta.dirname, "../..");

/** The code blocks of a language in a Markdown text. */
export const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(([, block = ""]) => block);

/** Runs a script in the checkout with kubectl and helm, and returns what it prints. */
export type RunCommands = (script: string) => Promise<string>;

/** `folder` is the home folder of the commands. */
export async function commandRunner(node: RealNode, folder: string): Promise<RunCommands> {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const built = await buildControlPlane();
  if (!built.available) throw new Error(built.reason);
  writeTool(join(bin, "kubectl"), `${built.path} kubectl`);
  writeTool(join(bin, "helm"), await buildHelm());
  const env = {
    PATH: `${bin}:${process.env["PATH"]}`,
    KUBECONFIG: node.admin.kubeconfig,
    HOME: folder,
    NODE: node.name,
    CONTAINERD_ADDRESS: join(node.folder, "containerd/c.sock"),
  };
  return async (script) => shell(script, env);
}

function writeTool(path: string, command: string): void {
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
      else reject(new Error(`the guide's commands ended with ${code}:\n${output.slice(-6000)}`));
    });
  });
}

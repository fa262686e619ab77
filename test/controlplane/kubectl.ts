import { spawn } from "node:child_process";

export interface KubectlResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlOptions {
  /** Text for standard input, for `-f -`. */
  readonly input?: string;
  readonly limitMs?: number;
}

/** Runs the real kubectl with the kubeconfig's user; does not throw when kubectl fails. */
export async function runKubectl(
  binary: string,
  at: { readonly folder: string; readonly kubeconfig: string },
  args: readonly string[],
  { input, limitMs = 180_000 }: KubectlOptions = {},
): Promise<KubectlResult> {
  return new Promise((resolve, reject) => {
    // kubectl caches discovery by server address below HOME, and another server may use this port later.
    const child = spawn(binary, ["kubectl", ...args], {
      env: { ...process.env, HOME: at.folder, KUBECONFIG: at.kubeconfig, CONTROLPLANE_PARENT: String(process.pid) },
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code, stdout, stderr });
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApiCommand } from "./extender-api.ts";

/** Nodes and twins behind a Kubernetes API in a separate process. */
export class BenchCluster {
  readonly kubeconfig: string;
  readonly #folder: string;
  readonly #api: ChildProcess;

  private constructor(api: ChildProcess, kubeconfig: string) {
    this.#api = api;
    this.#folder = mkdtempSync(join(tmpdir(), "joulie-bench-"));
    this.kubeconfig = join(this.#folder, "kubeconfig");
    writeFileSync(this.kubeconfig, kubeconfig, { mode: 0o600 });
  }

  /** With pods, every node also says which hardware it has. */
  static async open(nodes: number, pods = 0): Promise<BenchCluster> {
    const api = fork(join(import.meta.dirname, "extender-api.ts"), [String(nodes), String(pods)], { stdio: "inherit" });
    const said = once(api, "message") as Promise<[string]>;
    const [kubeconfig] = await Promise.race([said, once(api, "exit")]);
    if (typeof kubeconfig !== "string") throw new Error(`the API of the bench ended with ${kubeconfig}`);
    return new BenchCluster(api, kubeconfig);
  }

  tell(wish: ApiCommand): void {
    this.#api.send(wish);
  }

  async close(): Promise<void> {
    const ended = once(this.#api, "exit");
    this.#api.disconnect();
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

// A demo as a process of its own, as a user starts it.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock/index.ts";
import { eventually } from "../../src/platform/clock/testing/index.ts";
import { HttpTransport, loadIdentity, type Transport } from "../../src/platform/kube/index.ts";

const main = join(import.meta.dirname, "../../src/main.ts");

export interface RunningDemo {
  /** The address of the dashboard. */
  readonly url: string;
  /** Opens a connection to the API of the demo's cluster. */
  readonly connect: () => Promise<Transport>;
  readonly stop: () => Promise<void>;
}

/** Starts a demo and waits until it prints the address of its dashboard. */
export async function startDemo(...args: readonly string[]): Promise<RunningDemo> {
  const demo = spawn(process.execPath, [main, "demo", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<number | null>((resolve) => demo.once("exit", resolve));
  let output = "";
  const printed = (pattern: RegExp): string | undefined => pattern.exec(output)?.[1];
  for (const stream of [demo.stdout, demo.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const stop = async (): Promise<void> => {
    demo.kill("SIGTERM");
    await ended;
  };
  try {
    await eventually(() => {
      if (demo.exitCode !== null) throw new Error(`the demo ended with ${demo.exitCode}: ${output}`);
      // The line after the last one that is read here has begun.
      return output.includes("operator's plan");
    });
  } catch (error) {
    await stop();
    throw error;
  }
  const url = printed(/dashboard +(http:\S+)/);
  const kubeconfig = printed(/KUBECONFIG=(\S+)/);
  if (url === undefined || kubeconfig === undefined) {
    await stop();
    throw new Error(`the demo printed no addresses: ${output}`);
  }
  return {
    url,
    connect: async () =>
      new HttpTransport({ identity: await loadIdentity({ clock: systemClock, kubeconfig, environment: {} }) }),
    stop,
  };
}

// A demo as a process of its own, as a user starts it.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock/index.ts";
import { HttpTransport, loadIdentity, type Transport } from "../../src/platform/kube/index.ts";

const main = join(import.meta.dirname, "../../src/main.ts");

const BANNER_WITHIN = 60_000;

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
  const ready = Promise.withResolvers<void>();
  const look = (chunk: Buffer): void => {
    output += chunk.toString();
    // The line after the last one that is read here has begun.
    if (/operator's plan/.test(output)) ready.resolve();
  };
  demo.stdout.on("data", look);
  demo.stderr.on("data", look);
  void ended.then((code) => ready.reject(new Error(`the demo ended with ${code}: ${output}`)));
  const stop = async (): Promise<void> => {
    demo.kill("SIGTERM");
    await ended;
  };
  const late = setTimeout(
    () => ready.reject(new Error(`no banner within ${BANNER_WITHIN} ms: ${output}`)),
    BANNER_WITHIN,
  );
  try {
    await ready.promise;
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(late);
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

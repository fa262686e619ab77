import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { formatDuration, type Milliseconds, milliseconds } from "../../core/units/index.ts";
import { type Clock, endsWithin } from "../clock/index.ts";

export interface ForwardTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** An open way into a pod. Requests arrive there from loopback. */
interface ForwardedPort {
  readonly url: string;
  /** False once it was closed, or kubectl ended because the pod is gone. */
  readonly isOpen: boolean;
  close(): Promise<void>;
}

/** Opens a way to a port of a pod, as `kubectl port-forward` does. */
export type PortForwarder = (target: ForwardTarget) => Promise<ForwardedPort>;

export interface KubectlForwardOptions {
  readonly clock: Clock;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** The program to run; kubectl of the PATH by default. */
  readonly kubectl?: string;
  readonly timeout?: Milliseconds;
}

const TIMEOUT = milliseconds(10_000);
const END = milliseconds(2000);
/** More than kubectl prints before it is ready, or about a failure. */
const MAX_TEXT = 4096;
const SIGNALS = ["SIGINT", "SIGTERM"] as const;
const READY = /Forwarding from 127\.0\.0\.1:(\d+) ->/;

/** Runs `kubectl port-forward` on a free loopback port, with the user's credentials: nothing is open to others. */
export function kubectlForwarder(options: KubectlForwardOptions): PortForwarder {
  const { clock, kubeconfig, context, kubectl = "kubectl", timeout = TIMEOUT } = options;
  return async ({ namespace, pod, port }) => {
    const where = [
      ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
      ...(context === undefined ? [] : ["--context", context]),
    ];
    const args = [...where, "-n", namespace, "port-forward", "--address", "127.0.0.1", `pod/${pod}`, `:${port}`];
    const child = spawn(kubectl, args, { stdio: ["ignore", "pipe", "pipe"], env: process.env });
    const ended = new Promise<void>((resolve) => {
      child.once("close", () => resolve());
      child.once("error", () => resolve());
    });
    endWithProcess(child, ended);
    const close = async (): Promise<void> => {
      child.kill("SIGTERM");
      if (!(await endsWithin(clock, END, ended))) child.kill("SIGKILL");
    };
    const ready = Promise.withResolvers<number>();
    // It may be rejected after the time limit, when no caller waits any more.
    ready.promise.catch(() => undefined);
    let output = "";
    const listen = (chunk: string): void => {
      if (output.length < MAX_TEXT) output += chunk;
      const found = READY.exec(output)?.[1];
      if (found !== undefined) ready.resolve(Number(found));
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", listen);
    child.once("error", (error) => ready.reject(new Error(`cannot run ${kubectl}: ${error.message}`)));
    child.once("close", () => ready.reject(new Error(`kubectl port-forward: ${lastLine(output)}`)));
    try {
      const answered = await endsWithin(clock, timeout, ready.promise);
      if (!answered) throw new Error(`kubectl port-forward: not ready within ${formatDuration(timeout)}`);
      return {
        url: `http://127.0.0.1:${await ready.promise}`,
        get isOpen() {
          return child.exitCode === null && child.signalCode === null;
        },
        close,
      };
    } catch (error) {
      await close();
      throw error;
    }
  };
}

/** kubectl would go on for ever if this process ended without closing the port. */
function endWithProcess(child: ChildProcess, ended: Promise<void>): void {
  const end = (): void => void child.kill("SIGTERM");
  const onSignal = (signal: NodeJS.Signals): void => {
    end();
    process.removeListener(signal, onSignal);
    // Without a listener of the program, the signal ends it as if this one were not there.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  process.once("exit", end);
  // Before those of the program: one that listens once would already be gone.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  void ended.then(() => {
    process.removeListener("exit", end);
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  });
}

const lastLine = (text: string): string => text.trim().split("\n").at(-1) || "it ended without a message";

/** Keeps forwarded ports open for the next question; one whose pod is gone is opened again. */
export class ForwardCache {
  readonly #forward: PortForwarder;
  readonly #open = new Map<string, ForwardedPort>();

  constructor(forward: PortForwarder) {
    this.#forward = forward;
  }

  readonly forward: PortForwarder = async (target) => {
    const key = keyOf(target);
    const known = this.#open.get(key);
    const port = known?.isOpen === true ? known : await this.#forward(target);
    this.#open.set(key, port);
    return {
      url: port.url,
      get isOpen() {
        return port.isOpen;
      },
      close: async () => undefined,
    };
  };

  async close(): Promise<void> {
    const ports = Array.from(this.#open.values());
    this.#open.clear();
    await Promise.all(ports.map(async (port) => port.close()));
  }
}

const keyOf = ({ namespace, pod, port }: ForwardTarget): string => `${namespace}/${pod}:${port}`;

import type { ForwardedPort, ForwardTarget, PortForwarder } from "./kubectl-forward.ts";

/**
 * Keeps forwarded ports open for the next question: a command that prints every two seconds would start kubectl as often. A port
 * whose pod is gone is opened again.
 */
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

import type { Installation } from "../../../core/report/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import type { Clock } from "../../../platform/clock/index.ts";
import { isApiError, type KubeIo } from "../../../platform/kube/index.ts";
import { endedBy, programSettings, readInstallation } from "../../console/index.ts";
import { type ExtenderConfig, extenderConfig } from "../../extender/index.ts";

/** The extender's settings, and where they come from in words. */
export interface ExtenderSettings {
  readonly values: ExtenderConfig;
  readonly source: string;
}

export interface InstallationWatchOptions extends KubeIo {
  /** Real time. */
  readonly clock: Clock;
  readonly namespace: string;
  readonly assumed: ExtenderSettings;
  readonly isDemo: boolean;
}

const EVERY = milliseconds(10_000);

/** Reads several times a minute what is installed. While the API server is away, the last answer stays. */
export class InstallationWatch {
  readonly #options: InstallationWatchOptions;
  #installation: Installation | undefined;
  #extender: ExtenderSettings;
  #isFailing = false;

  constructor(options: InstallationWatchOptions) {
    this.#options = options;
    this.#extender = options.assumed;
  }

  get installation(): Installation | undefined {
    return this.#installation;
  }

  get extender(): ExtenderSettings {
    return this.#extender;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      // A call that hangs must not hold up the end, which saves the history.
      await endedBy(signal, this.read(signal)).catch(() => undefined);
      // Several dashboards do not ask at the same moment.
      await clock.sleep(milliseconds(EVERY * (0.8 + 0.4 * random.next())), signal).catch(() => undefined);
    }
  }

  async read(signal?: AbortSignal): Promise<void> {
    const { client, clock, namespace, assumed, isDemo, log } = this.#options;
    try {
      const unreadable: string[] = [];
      const found = await readInstallation(client, namespace, clock.now(), (part, error) => {
        // A missing right stays; anything else passes, and must not replace what is known.
        if (!isApiError(error, "forbidden")) throw error;
        unreadable.push(`${part}: ${error.message}`);
      });
      const { values, source, isInstalled } = await programSettings(client, namespace, "extender", extenderConfig);
      const isStarting = isDemo && !found.stopped && found.operatorLease === undefined;
      this.#installation = isStarting ? undefined : { ...found, missingKinds: [], unreadable };
      this.#extender = isInstalled ? { values, source } : assumed;
      this.#isFailing = false;
    } catch (error) {
      if (signal?.aborted === true) return;
      if (!this.#isFailing) log.warn({ err: error }, "cannot read the installation; showing what was read last");
      this.#isFailing = true;
    }
  }
}

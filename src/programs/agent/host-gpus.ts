import { type MonotonicInstant, milliseconds, monotonicInstant } from "../../core/units/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import type { BackendView, PowerCapBackend } from "../../platform/hardware/index.ts";
import { type Found, firstPresent } from "./host.ts";

/** Looking for a library or a tool that is not installed costs milliseconds: once a minute is soon enough for one that comes. */
const LOOK_AGAIN = milliseconds(60_000);

/** The host's GPUs, whichever way they can be reached. */
export class HostGpus {
  readonly #chains: readonly (readonly PowerCapBackend[])[];
  readonly #clock: Clock;
  readonly #absent = new Map<PowerCapBackend, { readonly view: BackendView; readonly until: MonotonicInstant }>();

  constructor(chains: readonly (readonly PowerCapBackend[])[], clock: Clock) {
    this.#chains = chains;
    this.#clock = clock;
  }

  /** One finding for each vendor. */
  async look(signal: AbortSignal): Promise<readonly Found[]> {
    return Promise.all(
      this.#chains.map(async (chain) => firstPresent(chain, async (backend) => this.#lookAt(backend, signal))),
    );
  }

  async #lookAt(backend: PowerCapBackend, signal: AbortSignal): Promise<BackendView> {
    const now = this.#clock.monotonic();
    const known = this.#absent.get(backend);
    if (known !== undefined && now < known.until) return known.view;
    const view = await backend.look(signal);
    if (view.boards === undefined) this.#absent.set(backend, { view, until: monotonicInstant(now + LOOK_AGAIN) });
    else this.#absent.delete(backend);
    return view;
  }
}

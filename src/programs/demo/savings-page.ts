import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../../platform/clock/index.ts";
import { HttpClient } from "../../platform/telemetry/index.ts";
import type { SavingsAnswer } from "../dashboard/index.ts";
import type { EnergyFigures } from "./status-line.ts";

/** Client of the dashboard's account of energy. The demo counts none of its own, so that there is one figure. */
export class SavingsPage {
  readonly #url: URL;
  readonly #http = new HttpClient({ clock: systemClock, timeout: milliseconds(2000) });
  #latest: EnergyFigures | undefined;

  constructor(dashboard: string) {
    this.#url = new URL("/api/savings", dashboard);
  }

  /** The last answer; undefined until the dashboard has counted. */
  get latest(): EnergyFigures | undefined {
    return this.#latest;
  }

  /** Asks the dashboard. The last answer stays if it does not respond. */
  async read(): Promise<void> {
    try {
      const answer = (await this.#http.json({ url: this.#url })) as SavingsAnswer;
      if (answer.coverage !== null && answer.coverage > 0) this.#latest = answer;
    } catch {
      // The dashboard is busy or about to stop.
    }
  }

  async close(): Promise<void> {
    await this.#http.close();
  }
}

import { annotations } from "../../../core/api/index.ts";
import type { StatusWriter } from "../api/status-writer.ts";
import { type ConditionText, withConditions } from "./endpoint-status.ts";
import { type Next, NOW, type NodeCase, type NodeReconcilerOptions } from "./node-case.ts";

export class WakeTest {
  readonly #options: Pick<NodeReconcilerOptions, "api" | "reports">;
  readonly #status: StatusWriter;

  constructor(options: Pick<NodeReconcilerOptions, "api" | "reports">, status: StatusWriter) {
    this.#options = options;
    this.#status = status;
  }

  async refuse(nodeCase: NodeCase, why: string): Promise<Next> {
    this.#options.reports.testRefused(nodeCase, why);
    return this.end(nodeCase, { holds: false, reason: "TestRefused", message: `not tested: ${why}` });
  }

  async end(nodeCase: NodeCase, result: Omit<ConditionText, "type">): Promise<Next> {
    const { name, signal, now } = nodeCase;
    const conditions = withConditions(this.#status.latest(nodeCase), [{ type: "Tested", ...result }], now);
    await this.#status.write(nodeCase, { conditions });
    // Until the watch shows that the annotation is gone, the test would begin again.
    this.#status.remember(await this.#options.api.clearRequest(name, annotations.testPower, signal));
    return NOW;
  }
}

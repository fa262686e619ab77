import { renderTable } from "../../core/units/index.ts";
import { printableLine } from "../../platform/log/index.ts";
import type { TestOutcome, TestProgress } from "../power/index.ts";
import type { CliEnvironment } from "./cluster-command.ts";

const BAR = 24;
const MAX_SHOWN_STEPS = 4;
const DEFAULT_COLUMNS = 80;

/** What `joulie power test` prints about many nodes: a line for each, a bar on a terminal, and a summary. */
export class TestReport {
  readonly #world: CliEnvironment;
  #printed = 0;
  #bar = "";

  constructor(world: CliEnvironment) {
    this.#world = world;
  }

  readonly show = (progress: TestProgress): void => {
    const lines = progress.finished.slice(this.#printed).map(outcomeLine);
    this.#printed = progress.finished.length;
    if (lines.length > 0) this.#clear();
    for (const line of lines) this.#world.out(line);
    if (!this.#world.machine.isTerminal) return;
    this.#clear();
    this.#bar = barOf(progress).slice(0, (this.#world.columns ?? DEFAULT_COLUMNS) - 1);
    this.#world.out(this.#bar);
  };

  /** Prints the summary. Returns what failed. */
  end(outcomes: readonly TestOutcome[]): string | undefined {
    this.#clear();
    if (outcomes.length === 0) {
      this.#world.out("no node has to be tested: the wakes of all are proven, or no node has a PowerEndpoint\n");
      return undefined;
    }
    const count = (result: TestOutcome["result"]) => outcomes.filter((one) => one.result === result).length;
    const summary = `${count("proven")} proven, ${count("failed")} failed, ${count("skipped")} skipped`;
    const others = outcomes.filter(({ result }) => result !== "proven");
    if (others.length > 0)
      this.#world.out(
        `\n${renderTable([["NODE", "RESULT", "WHY"], ...others.map(({ node, result, message }) => [node, result, message])])}`,
      );
    this.#world.out(`${summary}\n`);
    return others.length === 0 ? undefined : `${others.length} of ${outcomes.length} nodes are not proven`;
  }

  #clear(): void {
    if (this.#bar !== "") this.#world.out(`\r${" ".repeat(this.#bar.length)}\r`);
    this.#bar = "";
  }
}

const outcomeLine = ({ node, result, message }: TestOutcome): string =>
  printableLine(`${node}: ${result}: ${message}\n`);

function barOf({ total, finished, running }: TestProgress): string {
  const share = total === 0 ? 1 : finished.length / total;
  const filled = Math.round(share * BAR);
  const steps = Array.from(running, ([node, step]) => `${node} ${step}`);
  const shown = steps.slice(0, MAX_SHOWN_STEPS).join(", ");
  const more = steps.length > MAX_SHOWN_STEPS ? `, +${steps.length - MAX_SHOWN_STEPS}` : "";
  return `[${"#".repeat(filled)}${"-".repeat(BAR - filled)}] ${finished.length}/${total}  ${shown}${more}`;
}

// Minimal RBAC, shown by taking away: without any one right of a role, its program misses an outcome of its scenario.
import { type InstallationNames, type InstalledProgram, programPermissions } from "../../src/programs/permissions.ts";
import type { ControlPlane } from "../controlplane/harness.ts";
import type { Rule } from "../controlplane/identities.ts";
import { type Right, rightsOf, textOfRight } from "../controlplane/rights.ts";
import { OutcomeMissing, ScenarioRun } from "./run.ts";
import { scenarios } from "./scenarios.ts";

export interface MutantResult {
  readonly right: string;
  /** `unclear`: an outcome was missing, but the API server refused nothing. */
  readonly verdict: "killed" | "survived" | "unclear";
  /** The missing outcome. */
  readonly missing?: string;
}

let runs = 0;

/** The rights of one role on one control plane, which needs an audit log, a scheduler and a controller manager. */
export class RoleMutants {
  readonly #plane: ControlPlane;
  readonly #role: InstalledProgram;
  readonly #more: readonly Rule[];
  #usual: ReadonlyMap<string, number> | undefined;
  #lists: ReadonlyMap<string, number> | undefined;

  /** `more`: rules that the role does not have. */
  constructor(plane: ControlPlane, role: InstalledProgram, more: readonly Rule[] = []) {
    this.#plane = plane;
    this.#role = role;
    this.#more = more;
  }

  /** The rights that can be taken away. */
  get rights(): readonly string[] {
    return [...new Set(rightsOf(this.#rules(placeholders)).map(textOfRight))];
  }

  /** Runs the scenario with the whole role. It has to pass. */
  async runWhole(): Promise<void> {
    const { run, missing } = await this.#run(undefined);
    if (missing !== undefined) throw new Error(`${this.#role} with its whole role: not "${missing}"`);
    if (run.refused.length > 0) throw new Error(`${this.#role} with its whole role: refused ${run.refused.join(", ")}`);
    this.#usual = run.took;
    this.#lists = run.lists;
  }

  /** Runs the scenario without a right, named as in `rights`. */
  async runWithout(right: string): Promise<MutantResult> {
    const { run, missing: outcome } = await this.#run(right);
    const missing = outcome ?? this.#listedAgain(right, run);
    if (missing === undefined) return { right, verdict: "survived" };
    return { right, verdict: run.refused.length > 0 ? "killed" : "unclear", missing };
  }

  /** Without a watch a program lists again and again: changes arrive late, and the API server has more to do. */
  #listedAgain(right: string, run: ScenarioRun): string | undefined {
    const [verb, resource = ""] = right.split(" ");
    const isMore = (run.lists.get(resource) ?? 0) > (this.#lists?.get(resource) ?? 0);
    return verb === "watch" && isMore ? `${resource} are listed only at the start` : undefined;
  }

  #rules(names: InstallationNames): readonly Rule[] {
    return [...programPermissions[this.#role](names), ...this.#more];
  }

  async #run(without: string | undefined): Promise<{ readonly run: ScenarioRun; readonly missing?: string }> {
    const id = `r${++runs}`;
    const names = namesOf(id);
    // Rights of the placeholders and of this run are in the same order.
    const removed = new Set(
      rightsOf(this.#rules(placeholders)).flatMap((right, index) => (textOfRight(right) === without ? [index] : [])),
    );
    const rules = rightsOf(this.#rules(names))
      .filter((_, index) => !removed.has(index))
      .map(ruleOf);
    const identity = await this.#plane.identity(rules, {
      name: `joulie-${this.#role}`,
      namespace: names.namespace,
    });
    const usual = this.#usual === undefined ? {} : { usual: this.#usual };
    const run = new ScenarioRun({ plane: this.#plane, identity, names, id, ...usual });
    try {
      await scenarios[this.#role](run);
      return { run };
    } catch (error) {
      if (error instanceof OutcomeMissing) return { run, missing: error.message };
      throw error;
    } finally {
      await run.close();
    }
  }
}

const namesOf = (id: string): InstallationNames => ({
  namespace: `install-${id}`,
  service: "joulie-scheduler-extender",
  workloadNamespace: `work-${id}`,
  lease: "joulie-operator",
  powerLease: "joulie-power",
  fleet: "joulie-fleet",
});
const placeholders = namesOf("x");

const ruleOf = ({ verb, group, resource, namespace, name }: Right): Rule => ({
  ...(namespace !== undefined && { namespace }),
  apiGroups: [group],
  resources: [resource],
  ...(name !== undefined && { resourceNames: [name] }),
  verbs: [verb],
});

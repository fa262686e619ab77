// The arguments of the chart's Jobs, as the goldens have them, are arguments that the command line knows.
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { run } from "../src/programs/cli/index.ts";
import { programs } from "../src/programs/index.ts";

interface Job {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly [{ args: string[] }] } } };
}

const goldens = globSync(join(import.meta.dirname, "chart/*.golden.yaml"));
const nowhere = "/nonexistent/kubeconfig";

/** What the command prints, and how it ends. It knows no cluster, so it changes nothing. */
async function joulie(args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = "";
  const write = (more: string) => {
    text += more;
  };
  const machine = { isTerminal: false, exists: () => false };
  const code = await run(args, programs, { env: { KUBECONFIG: nowhere }, machine, out: write, err: write });
  return { code, text };
}

describe("the arguments of the chart's Jobs", () => {
  it("are in the goldens", () => {
    expect(goldens.length).toBeGreaterThan(3);
  });

  it.each(goldens.map((path) => [basename(path), path]))("are known to the command line: %s", async (_, path) => {
    const jobs = parseAllDocuments(readFileSync(path, "utf8"))
      .map((document) => document.toJS() as Job | null)
      .filter((object) => object !== null)
      .filter(({ kind }) => kind === "Job");
    expect(jobs.length).toBeGreaterThan(2);
    for (const { spec } of jobs) {
      const [{ args }] = spec.template.spec.containers;
      // The kubeconfig is read after the arguments.
      const { text } = await joulie(args);
      expect([args.join(" "), text]).toEqual([args.join(" "), expect.stringContaining(nowhere)]);
    }
  });

  it.each(["check", "uninstall-fleet", "fleet", "agents"])("joulie check refuses the program %s", async (program) => {
    expect(await joulie(["check", "--programs", `agent,${program}`])).toEqual({
      code: 2,
      text: expect.stringContaining(
        "Programs are agent, agent-pool, operator, operator-sleep, extender, extender-energy, dashboard, power.",
      ),
    });
  });
});

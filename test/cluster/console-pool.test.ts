// The console on an installation that the real helm made with agent.mode=pool.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Installation, InstalledWorkload } from "../../src/core/report/index.ts";
import { run } from "../../src/programs/cli/index.ts";
import type { DoctorFinding } from "../../src/programs/console/doctor/doctor-checks.ts";
import { programs } from "../../src/programs/index.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/harness.ts";
import { helmOf } from "../controlplane/helm.ts";

const chart = join(import.meta.dirname, "../../charts/joulie");
const NAMESPACE = "joulie-system";
const SHARDS = 3;

interface StatusAnswer {
  readonly problems: readonly { readonly id: string; readonly what: string; readonly command: string }[];
  readonly installation: Installation;
}

describe("the console on an installation with a pool of agents", () => {
  let plane: ControlPlane;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "joulie-pool-"));
    plane = await startControlPlane({});
    await plane.kubectl(["create", "namespace", NAMESPACE]);
    const helm = await helmOf(folder, plane.admin.kubeconfig);
    const values = `image.repository=joulie,image.tag=0.1.0,agent.mode=pool,agent.pool.replicas=${SHARDS}`;
    // No kubelet runs the Jobs here.
    await helm("install", "joulie", chart, "--namespace", NAMESPACE, "--no-hooks", "--set", values);
  }, 1_800_000);
  afterAll(async () => {
    await plane?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const joulie = async (...args: readonly string[]): Promise<string> => {
    let text = "";
    const machine = { isTerminal: false, exists: () => false };
    await run(args, programs, {
      env: { KUBECONFIG: plane.admin.kubeconfig },
      machine,
      out: (more) => {
        text += more;
      },
      err: () => undefined,
    });
    return text;
  };
  const status = async (): Promise<StatusAnswer> => JSON.parse(await joulie("status", "-o", "json")) as StatusAnswer;
  const agents = async (): Promise<InstalledWorkload | undefined> =>
    (await status()).installation.programs.find(({ program }) => program === "agent");
  const programRights = async (): Promise<DoctorFinding | undefined> =>
    (JSON.parse(await joulie("doctor", "-o", "json")) as DoctorFinding[]).find(
      ({ check }) => check === "program-permissions",
    );

  it("CLI-10 PRE-04 status shows the pool with its pods and its version, the preset, and that it only observes", async () => {
    const pool = { program: "agent", kind: "StatefulSet", name: "joulie-agent", desired: SHARDS, version: "0.1.0" };
    const settings = { preset: "observe", values: { SIMULATE_ONLY: "true" }, overrides: [] };
    expect(await agents()).toEqual({ ...pool, ready: 0, observeOnly: true, settings });
    const { problems } = await status();
    expect(problems.map(({ id }) => id)).toContain("observe-only");
    expect(problems.map(({ what }) => what)).toContain(`StatefulSet joulie-agent has 0 of ${SHARDS} pods ready.`);
    await plane.api.mergePatch(`/apis/apps/v1/namespaces/${NAMESPACE}/statefulsets/joulie-agent/status`, {
      status: { replicas: SHARDS, readyReplicas: SHARDS },
    });
    expect(await agents()).toMatchObject({ ready: SHARDS });
    const text = await joulie("status");
    expect(text).toContain(`PROGRAM   joulie-agent ${SHARDS}/${SHARDS} (0.1.0)\n`);
    expect(text).toContain("PRESET    observe\n");
  });

  it("CLI-01 status gives a command that shows which programs have another version", async () => {
    const template = { spec: { template: { spec: { containers: [{ name: "agent", image: "joulie:0.2.0" }] } } } };
    const patch = ["patch", "statefulset", "joulie-agent", "--patch", JSON.stringify(template)];
    await plane.kubectl(["--namespace", NAMESPACE, ...patch]);
    const found = (await status()).problems.find(({ id }) => id === "versions-differ");
    const [program, ...args] = found?.command.split(" ") ?? [];
    expect(program).toBe("kubectl");
    const { stdout } = await plane.kubectl(args);
    expect(stdout).toMatch(/statefulset.*joulie:0\.2\.0/);
    expect(stdout).toMatch(/deployment.*:0\.1\.0/);
  });

  it("CLI-13 doctor asks for the rights of the pool's ServiceAccount, which the chart grants", async () => {
    expect(await programRights()).toMatchObject({
      what: expect.stringMatching(/\bjoulie-agent\b.* may do what they need$/) as string,
    });
    await plane.kubectl(["delete", "clusterrolebinding", "joulie-agent"]);
    expect(await programRights()).toMatchObject({
      severity: "critical",
      what: expect.stringContaining("joulie-agent may not ") as string,
    });
  });
});

// npm run mutation -- rbac [ROLE…]: takes one right at a time from a role of the chart, runs the role's program on a real API
// server, and expects that the server refuses a request and an outcome of the scenario (test/rights) does not come.
import { type InstalledProgram, programPermissions } from "../../src/programs/permissions.ts";
import { RoleMutants } from "../../test/rights/mutants.ts";
import { startRightsPlane } from "../../test/rights/plane.ts";

const roles = Object.keys(programPermissions) as InstalledProgram[];

/** Returns the exit code. */
export async function mutateRbac(named: readonly string[]): Promise<number> {
  const unknown = named.filter((name) => !(roles as string[]).includes(name));
  if (unknown.length > 0) {
    console.error(`joulie: there is no role ${unknown.join(", ")}; roles: ${roles.join(", ")}`);
    return 2;
  }
  // The exit event ends the control plane, which a signal alone would not.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
  const counts = { killed: 0, survived: 0, unclear: 0 };
  const plane = await startRightsPlane();
  try {
    for (const role of roles.filter((one) => named.length === 0 || named.includes(one))) {
      const mutants = new RoleMutants(plane, role);
      await mutants.runWhole();
      for (const right of mutants.rights) {
        const begun = performance.now();
        let result = await mutants.runWithout(right);
        // On a busy machine an outcome may be late although nothing was refused.
        if (result.verdict === "unclear") result = await mutants.runWithout(right);
        counts[result.verdict]++;
        const verdict = result.verdict === "killed" ? "killed" : result.verdict.toUpperCase();
        const why = result.missing === undefined ? "" : `: not "${result.missing}"`;
        console.log(`${role}, ${right}: ${verdict}${why} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
      }
    }
  } finally {
    await plane.stop();
  }
  console.log(`\n${counts.killed} killed, ${counts.survived} survived, ${counts.unclear} unclear`);
  return counts.survived + counts.unclear === 0 ? 0 : 1;
}

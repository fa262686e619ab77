// Observations for the table of the variables of `joulie agent restore`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock/index.ts";
import type { RawValues } from "../../src/platform/config/index.ts";
import { HostDirectory, RaplBackend } from "../../src/platform/hardware/index.ts";
import { Journal, type JournalEntry, journalFiles } from "../../src/platform/journal/index.ts";
import { lockFolder } from "../../src/platform/lock/index.ts";
import { restoreConfig } from "../../src/programs/agent/config.ts";
import { restore } from "../../src/programs/agent/restore/restore.ts";
import { fileAt, HERE, inPlace, LIMIT, THERE, withMachines } from "./agent-on-host.ts";
import { serveSecurely } from "./secure-service.ts";
import { configured } from "./variable-table.ts";

/** Placeholder in the table's values; the observation replaces it with the address of its own service. */
export const SERVICE = "https://service.test";

const GPU = { backend: "gpu", board: "GPU-1", original: "700000" };

/**
 * Both machines have a package that an agent has left at 210 W. HERE, the journal lists it, the packages of node a
 * behind HTTPS and of node b behind HTTP, and a GPU. THERE, an agent is running.
 */
export const restored = async (variables: RawValues): Promise<unknown> =>
  withMachines(variables, async (here, there) => {
    const service = await serveSecurely();
    const machines = [here, there].filter((folder) => fileAt(folder, LIMIT) !== undefined);
    const rapl = new RaplBackend({ files: new HostDirectory(join(machines[0] ?? "", "sys")), clock: systemClock });
    const { original = "" } = await rapl.original("package-0");
    const own = { backend: "rapl", board: "package-0", original, ours: 150, boot: "boot-here" };
    for (const folder of machines) writeFileSync(join(folder, LIMIT), "210000000");
    writeFileSync(join(here, "token"), "s3cret");
    writeFileSync(join(here, "ca.crt"), service.certificate);
    const packages = {
      node: "a",
      backend: "http",
      endpoint: `${service.url}/control/a`,
      board: "packages",
      original: JSON.stringify({ endpoint: `${service.url}/control/a`, timeoutSeconds: 5, watts: 400 }),
    };
    const elsewhere = "http://service.invalid/control/b";
    const unencrypted = {
      ...packages,
      node: "b",
      endpoint: elsewhere,
      original: JSON.stringify({ endpoint: elsewhere, timeoutSeconds: 5, watts: 400 }),
    };
    await keep(join(here, "state"), [own, packages, unencrypted, GPU]);
    await keep(join(there, "kept"), [GPU]);
    const lock = await lockFolder(join(there, "state"));
    try {
      let text = "";
      await restore(configured(restoreConfig, reached(inPlace(variables, here, there), service.url)), (more) => {
        text += more;
      });
      const lines = text.replaceAll(here, HERE).replaceAll(there, THERE).trim().split("\n");
      return {
        ...Object.fromEntries(lines.map((line) => [/^(?:rapl|gpu|\w http) |/.exec(line)?.[0].trim(), outcomeOf(line)])),
        limits: [here, there].map((folder) => (fileAt(folder, LIMIT) ?? 0) / 1e6),
        authorizations: service.authorizations,
      };
    } finally {
      await lock?.release();
      await service.close();
    }
  });

/** Shortens an output line for the table. */
function outcomeOf(line: string): string {
  const words = [
    /: restored$/,
    /not an allowed endpoint/,
    /unencrypted/,
    /no response/,
    /NVML library \S+/,
    /no GPU "\S+" on this node/,
  ];
  return words.map((word) => word.exec(line)?.[0]).find((word) => word !== undefined) ?? line;
}

const reached = (variables: RawValues, url: string): RawValues =>
  Object.fromEntries(Object.entries(variables).map(([name, text = ""]) => [name, text.replace(SERVICE, url)]));

async function keep(folder: string, entries: readonly Omit<JournalEntry, "at">[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const journal = await Journal.open({ files: journalFiles(folder), clock: systemClock, onProblem: () => undefined });
  for (const entry of entries) await journal.keep({ ...entry, at: new Date(0).toISOString() });
  await journal.flush();
}

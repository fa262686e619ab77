// What `joulie agent restore` does, as the table of its variables looks at it.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../src/platform/clock/index.ts";
import type { Texts } from "../../src/platform/config/index.ts";
import { HostDirectory, RaplBackend } from "../../src/platform/hardware/index.ts";
import { Journal, type JournalEntry, journalFiles } from "../../src/platform/journal/index.ts";
import { lockFolder } from "../../src/platform/lock/index.ts";
import { restoreConfig } from "../../src/programs/agent/config.ts";
import { restore } from "../../src/programs/agent/restore.ts";
import { fileAt, HERE, inPlace, LIMIT, THERE, withMachines } from "./agent-on-host.ts";
import { serveSecurely } from "./secure-service.ts";
import { configured } from "./variable-table.ts";

const GPU = { backend: "gpu", board: "GPU-1", original: "700000" };

/**
 * Both machines have a package that an agent has left at 210 W. The journal here knows of it, and of the packages of node a
 * behind HTTPS, and a GPU; there an agent runs.
 */
export const restored = async (variables: Texts): Promise<unknown> =>
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
    await keep(join(here, "state"), [own, packages, GPU]);
    await keep(join(there, "kept"), [GPU]);
    const lock = await lockFolder(join(there, "state"));
    try {
      let text = "";
      await restore(configured(restoreConfig, inPlace(variables, here, there)), (more) => {
        text += more;
      });
      const said = text.replaceAll(here, HERE).replaceAll(there, THERE).replaceAll(service.url, "https://service");
      return {
        said: said
          .trim()
          .split("\n")
          .map((line) => line.replace(/ on this node(.*)/, nvmlOf).replace(/: no answer.*/, "")),
        limits: [here, there].map((folder) => (fileAt(folder, LIMIT) ?? 0) / 1e6),
        authorizations: service.authorizations,
      };
    } finally {
      await lock?.release();
      await service.close();
    }
  });

/** Whatever else GPUs are looked for with is of no interest here. */
const nvmlOf = (text: string): string => ` ${/NVML's library \S+/.exec(text)?.[0] ?? ""}`.trimEnd();

async function keep(folder: string, entries: readonly Omit<JournalEntry, "at">[]): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const journal = await Journal.open({ files: journalFiles(folder), clock: systemClock, onProblem: () => undefined });
  for (const entry of entries) await journal.keep({ ...entry, at: new Date(0).toISOString() });
  await journal.flush();
}

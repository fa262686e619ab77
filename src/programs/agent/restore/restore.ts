import process from "node:process";
import type { ErrorCode } from "../../../core/api/index.ts";
import { builtinCatalogue } from "../../../core/inventory/index.ts";
import { milliseconds } from "../../../core/units/index.ts";
import { type Clock, systemClock } from "../../../platform/clock/index.ts";
import type { PowerCapBackend } from "../../../platform/hardware/index.ts";
import { Journal, type JournalEntry, type JournalFiles, journalFiles } from "../../../platform/journal/index.ts";
import { printableLine } from "../../../platform/log/index.ts";
import { HttpClient } from "../../../platform/telemetry/index.ts";
import type { RestoreConfig } from "../config.ts";
import { journalBackend } from "../devices/original-limits.ts";
import type { HostMachine } from "../host/host.ts";
import { hostRoots, openHost } from "../host/open-host.ts";
import { endpointAccess } from "../settings.ts";
import { Restorer } from "./restorer.ts";
import { tryLock } from "./state-lock.ts";

/** Timeout of a connection; each journal entry has its own timeout for the response. */
const CONNECT_TIMEOUT = milliseconds(5000);

export interface RestoreWorld {
  readonly files: JournalFiles;
  readonly clock: Clock;
  readonly host: HostMachine;
  readonly out: (text: string) => void;
}

const JOURNAL: ErrorCode = "JOULIE_E_JOURNAL";
const NOT_RESTORED: ErrorCode = "JOULIE_E_NOT_RESTORED";
const STATE_DIR_ERROR: ErrorCode = "JOULIE_E_STATE_DIR";

/** `joulie agent restore`: restores the limits that a stopped agent has left in force. Returns the exit code. */
export async function restore(
  config: RestoreConfig,
  write = (text: string): void => void process.stdout.write(text),
): Promise<number> {
  const out = (line: string): void => write(printableLine(line));
  const { lock, failed } = await tryLock(config.STATE_DIR, () => undefined);
  if (lock === undefined) {
    const { STATE_DIR } = config;
    out(
      failed === undefined
        ? `an agent is running with STATE_DIR=${STATE_DIR}: stop it first; it restores its limits when it stops (${STATE_DIR_ERROR})\n`
        : `STATE_DIR=${STATE_DIR} cannot be locked: ${failed}; try again (${STATE_DIR_ERROR})\n`,
    );
    return 1;
  }
  const clock = systemClock;
  const host = openHost(config, hostRoots(config), clock, builtinCatalogue);
  try {
    return await restoreAll(config, { files: journalFiles(config.STATE_DIR), clock, host, out });
  } finally {
    await host.close();
    await lock.release();
  }
}

export async function restoreAll(config: RestoreConfig, world: RestoreWorld): Promise<number> {
  const { files, clock, host } = world;
  const out = (line: string): void => world.out(printableLine(line));
  const journal = await Journal.open({ files, clock, onProblem: (problem) => out(`warning: ${problem}\n`) });
  const entries = [...journal.entries()];
  // An empty journal means that nothing is in force, unless the journal could not be read.
  if (entries.length === 0 && journal.problem === undefined) {
    out(`nothing to restore: no original limit is stored in ${files.directory}\n`);
    return 0;
  }
  const failed = entries.length === 0 ? 0 : await restoreEach(config, entries, journal, { files, clock, host, out });
  if (journal.problem !== undefined) {
    out(`error: ${journal.problem} (${JOURNAL})\n`);
    out("limits in force now; compare them with what this machine should have:\n");
    for (const line of await limitsInForce(host)) out(`  ${line}\n`);
  }
  return failed === 0 && journal.problem === undefined ? 0 : 1;
}

/** The number of limits that could not be restored, plus one if the journal could not be written. */
async function restoreEach(
  config: RestoreConfig,
  entries: readonly JournalEntry[],
  journal: Journal,
  { files, clock, host, out }: RestoreWorld,
): Promise<number> {
  const http = new HttpClient({
    clock,
    timeout: CONNECT_TIMEOUT,
    access: endpointAccess(config),
    tokenFile: config.TELEMETRY_HTTP_TOKEN_FILE,
    caFile: config.TELEMETRY_HTTP_CA_FILE,
  });
  const restorer = new Restorer({ host, http, clock });
  let failed = 0;
  let listed = false;
  try {
    for (const entry of entries) {
      const { result, message } = await restorer.restore(entry, new AbortController().signal);
      if (result === "applied") journal.drop(entry);
      else failed++;
      // Says why no GPU backend works.
      const { absent } =
        result !== "applied" && entry.backend === journalBackend(host.gpu) ? await host.gpu.discover() : {};
      const why = [message ?? result, absent].filter((part) => part !== undefined).join(": ");
      out(`${nameOf(entry)}: ${result === "applied" ? "restored" : `not restored: ${why}`}\n`);
    }
    listed = !(await journal.flush());
  } finally {
    await http.close();
  }
  if (failed > 0)
    out(
      `${failed} of ${entries.length} limits were not restored; they stay in the journal for another attempt (${NOT_RESTORED})\n`,
    );
  if (listed)
    out(
      `the journal in ${files.directory} could not be written and still lists restored limits: run the command again (${JOURNAL})\n`,
    );
  return failed + (listed ? 1 : 0);
}

const nameOf = ({ node, backend, board }: JournalEntry): string =>
  [node, backend, board].filter((part) => part !== undefined).join(" ");

/** The limits in force on this machine, one line each. */
export async function limitsInForce(host: HostMachine): Promise<readonly string[]> {
  const caps = await Promise.all([...host.cpuCaps, host.gpu].map(limitsOf));
  const byMaximum = Map.groupBy(await host.frequencies(false), ({ max }) => max);
  const frequencies = Array.from(
    byMaximum,
    ([maximum, policies]) =>
      `${policies.length} at most ${maximum === undefined ? "? MHz" : `${Math.round(maximum / 1000)} MHz`}`,
  );
  return [...caps.flat(), ...(frequencies.length === 0 ? [] : [`cpufreq policies: ${frequencies.join(", ")}`])];
}

async function limitsOf(backend: PowerCapBackend): Promise<readonly string[]> {
  const { boards = [] } = await backend.discover();
  return Promise.all(
    boards.map(async ({ id, device, lost }) => {
      const { limit, unreadable } = lost === undefined ? await backend.limit(id) : { unreadable: lost };
      const formatted = limit === undefined ? `unknown: ${unreadable}` : `${limit} W`;
      return `${backend.name} ${id}: ${formatted}${device.max === undefined ? "" : ` of at most ${device.max} W`}`;
    }),
  );
}

import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { JournalFiles } from "./files.ts";
import { type Generation, type ReadGeneration, readGeneration } from "./generation.ts";

export const CURRENT = "originals.json";
export const PREVIOUS = "originals.previous.json";
export const NEXT = "originals.next.json";
const DAMAGED = "originals.damaged.json";

/** Temporary errors (EIO, EMFILE) say nothing about the file. */
const READ_TRIES = 4;
const READ_PAUSE = milliseconds(250);

/** The content of the journal files. */
export interface LoadedJournal {
  readonly newest: Generation;
  /** Why nothing may be written: a file of another version of Joulie exists. */
  readonly sealed?: string | undefined;
  /** Why no new board may be added: it may already have been changed, so its current limit may be Joulie's own. */
  readonly lossy?: string | undefined;
  /** Why the newest file is unknown: it exists but is unreadable now. Nothing may be written until it is readable. */
  readonly unread?: string | undefined;
}

interface Found {
  readonly name: string;
  /** Absent if the file exists but is unreadable. */
  readonly read?: ReadGeneration;
  readonly unread?: string;
}

/** Reads the existing files and sets a damaged file aside. */
export async function loadJournal(
  files: JournalFiles,
  clock: Clock,
  onProblem: (problem: string) => void,
): Promise<LoadedJournal> {
  const found = await Promise.all([CURRENT, NEXT, PREVIOUS].map(async (name) => readOne(files, name, clock)));
  const there = found.filter((one) => one !== undefined);
  const current = there.find(({ name }) => name === CURRENT)?.read?.good;
  const [unread] = there.filter((one) => one.unread !== undefined);
  // An unreadable file may be the newest one, unless the current file is valid.
  if (unread !== undefined && current === undefined) {
    const why = `${files.directory}/${unread.name} cannot be read: ${unread.unread}; Joulie leaves it unchanged and changes no limit until it is readable`;
    onProblem(why);
    return { newest: NOTHING, unread: why };
  }
  const good = there.flatMap(({ read }) => read?.good ?? []);
  const [newest = NOTHING] = good.toSorted((a, b) => b.generation - a.generation);
  const newer = there.find(({ read }) => read?.good === undefined && read?.newer === true);
  const sealed = newer && `${files.directory}/${newer.name}: ${newer.read?.damage}`;
  // The previous file may lack the last entries; only the next file has all of them.
  const next = there.find(({ name }) => name === NEXT)?.read?.good;
  const lost = newest === next ? undefined : there.find((one) => one.name === CURRENT && isDamaged(one));
  for (const one of there) {
    // An interrupted write of the temporary file loses nothing: no limit was changed yet.
    if (one.read?.good === undefined && one.name !== NEXT && one.name !== lost?.name)
      onProblem(`${files.directory}/${one.name} cannot be used: ${reasonOf(one)}`);
  }
  if (lost !== undefined) await files.rename(CURRENT, DAMAGED).catch((error: unknown) => onProblem(messageOf(error)));
  const known = lost ?? (await readOne(files, DAMAGED, clock));
  const lossy = known && lossOf(files, known);
  if (lossy !== undefined) onProblem(lossy);
  return { newest, sealed, lossy };
}

const NOTHING: Generation = { generation: 0, entries: [] };

const isDamaged = ({ read }: Found): boolean => read !== undefined && read.good === undefined && read.newer !== true;

const reasonOf = ({ read, unread }: Found): string | undefined => unread ?? read?.damage;

function lossOf({ directory }: JournalFiles, found: Found): string {
  const reason = reasonOf(found);
  return `${directory}/${found.name} cannot be used${reason === undefined ? "" : `: ${reason}`}; the original limits that only this file contained are lost. Joulie changes no other limit until an administrator has checked the limits of this machine (a reboot resets most) and removed ${DAMAGED}`;
}

async function readOne(files: JournalFiles, name: string, clock: Clock): Promise<Found | undefined> {
  for (let tried = 1; ; tried++) {
    try {
      const text = await files.read(name);
      return text === undefined ? undefined : { name, read: readGeneration(text) };
    } catch (error) {
      if (tried === READ_TRIES) return { name, unread: messageOf(error) };
      await clock.sleep(READ_PAUSE);
    }
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { JournalFiles } from "./files.ts";
import { type Generation, type ReadGeneration, readGeneration } from "./generation.ts";

export const CURRENT = "originals.json";
export const PREVIOUS = "originals.previous.json";
export const NEXT = "originals.next.json";
const DAMAGED = "originals.damaged.json";

/** A disk or a process may be short of something for a moment (EIO, EMFILE): that says nothing about the file. */
const READ_TRIES = 4;
const READ_PAUSE = milliseconds(250);

/** What the files of a journal say. */
export interface LoadedJournal {
  readonly newest: Generation;
  /** Why nothing may be written: another Joulie's file is here. */
  readonly sealed?: string | undefined;
  /** Why no board may be new: it may be one that was changed, and what it is now our own doing. */
  readonly lossy?: string | undefined;
  /** Why the newest file is not known: it is there and cannot be read now. Nothing may be written until it can. */
  readonly unread?: string | undefined;
}

interface Found {
  readonly name: string;
  /** Absent where the file is there and cannot be read. */
  readonly read?: ReadGeneration;
  readonly unread?: string;
}

/** Reads what there is, and sets a damaged file aside. */
export async function loadJournal(files: JournalFiles, clock: Clock, onProblem: (problem: string) => void): Promise<LoadedJournal> {
  const found = await Promise.all([CURRENT, NEXT, PREVIOUS].map(async (name) => readOne(files, name, clock)));
  const there = found.filter((one) => one !== undefined);
  const current = there.find(({ name }) => name === CURRENT)?.read?.good;
  const [unread] = there.filter((one) => one.unread !== undefined);
  // One that cannot be read may be the newest: only a current file that is good says otherwise.
  if (unread !== undefined && current === undefined) {
    const why = `${files.directory}/${unread.name} cannot be read: ${unread.unread}; it is left as it is and nothing is lost, and no limit is changed until it can be read`;
    onProblem(why);
    return { newest: NOTHING, unread: why };
  }
  const good = there.flatMap(({ read }) => read?.good ?? []);
  const [newest = NOTHING] = good.toSorted((a, b) => b.generation - a.generation);
  const newer = there.find(({ read }) => read?.good === undefined && read?.newer === true);
  const sealed = newer && `${files.directory}/${newer.name}: ${newer.read?.damage}`;
  // The file before may lack what was kept last; only the one that was to follow has it all.
  const next = there.find(({ name }) => name === NEXT)?.read?.good;
  const lost = newest === next ? undefined : there.find((one) => one.name === CURRENT && isDamaged(one));
  for (const one of there) {
    // What was cut short while it was written aside is no loss: nothing was changed on its word.
    if (one.read?.good === undefined && one.name !== NEXT && one.name !== lost?.name)
      onProblem(`${files.directory}/${one.name} cannot be used: ${reasonOf(one)}`);
  }
  if (lost !== undefined) await files.rename(CURRENT, DAMAGED).catch((error: unknown) => onProblem(errorText(error)));
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
  return `${directory}/${found.name} cannot be used${reason === undefined ? "" : `: ${reason}`}; what it alone knew to be original is not known any more. No other limit is changed until somebody has checked those of this machine (booting resets most) and removed ${DAMAGED}`;
}

async function readOne(files: JournalFiles, name: string, clock: Clock): Promise<Found | undefined> {
  for (let tried = 1; ; tried++) {
    try {
      const text = await files.read(name);
      return text === undefined ? undefined : { name, read: readGeneration(text) };
    } catch (error) {
      if (tried === READ_TRIES) return { name, unread: errorText(error) };
      await clock.sleep(READ_PAUSE);
    }
  }
}

export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

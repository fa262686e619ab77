import { errorMessageOf } from "../../core/api/index.ts";
import { milliseconds } from "../../core/units/index.ts";
import type { Clock } from "../clock/index.ts";
import type { JournalFiles } from "./files.ts";
import { type Generation, readGeneration } from "./generation.ts";

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
  /** Why nothing may be written: a file of a newer version of Joulie exists. */
  readonly newerVersion?: string | undefined;
  /** Why no new board may be added: it may already have been changed, so its current limit may be Joulie's own. */
  readonly lostEntries?: string | undefined;
  /** Why the newest file is unknown: it exists but cannot be read now. Nothing may be written until it can. */
  readonly unreadable?: string;
}

type FileState =
  | { readonly kind: "missing" }
  | { readonly kind: "valid"; readonly generation: Generation }
  | { readonly kind: "damaged" | "newerVersion" | "unreadable"; readonly reason: string };

interface JournalFile {
  readonly path: string;
  readonly state: FileState;
}

/** Reads the existing files and sets a damaged file aside. */
export async function loadJournal(
  files: JournalFiles,
  clock: Clock,
  onProblem: (problem: string) => void,
): Promise<LoadedJournal> {
  const [current, next, previous] = await Promise.all([
    readJournalFile(files, CURRENT, clock),
    readJournalFile(files, NEXT, clock),
    readJournalFile(files, PREVIOUS, clock),
  ]);
  const candidates = [current, next, previous];

  const unreadable = whyNewestIsUnknown(current, candidates);
  if (unreadable !== undefined) {
    onProblem(unreadable);
    return { newest: EMPTY, unreadable };
  }
  const newest = newestOf(candidates);
  const holdsLostEntries = current.state.kind === "damaged" && !isNewest(next, newest);
  // An interrupted write of the next file loses nothing: no limit was changed yet.
  for (const file of [previous, ...(holdsLostEntries ? [] : [current])]) reportUnusable(file, onProblem);
  if (holdsLostEntries) await setAside(files, onProblem);
  const damaged = holdsLostEntries ? current : await readJournalFile(files, DAMAGED, clock);
  const lostEntries = whyEntriesAreLost(damaged);
  if (lostEntries !== undefined) onProblem(lostEntries);
  return { newest, newerVersion: whyNothingMayBeWritten(candidates), lostEntries };
}

const EMPTY: Generation = { generation: 0, entries: [] };

/** An unreadable file may be the newest one, unless the current file is valid. */
function whyNewestIsUnknown(current: JournalFile, candidates: readonly JournalFile[]): string | undefined {
  if (current.state.kind === "valid") return undefined;
  for (const { path, state } of candidates)
    if (state.kind === "unreadable")
      return `${path} cannot be read: ${state.reason}; Joulie leaves it unchanged and changes no limit until it is readable`;
  return undefined;
}

function newestOf(candidates: readonly JournalFile[]): Generation {
  const valid = candidates.flatMap(({ state }) => (state.kind === "valid" ? state.generation : []));
  const [newest = EMPTY] = valid.toSorted((a, b) => b.generation - a.generation);
  return newest;
}

/** The previous file may lack the last entries; only the next file has all of a damaged current one. */
const isNewest = ({ state }: JournalFile, newest: Generation): boolean =>
  state.kind === "valid" && state.generation === newest;

function whyNothingMayBeWritten(candidates: readonly JournalFile[]): string | undefined {
  for (const { path, state } of candidates) if (state.kind === "newerVersion") return `${path}: ${state.reason}`;
  return undefined;
}

function reportUnusable({ path, state }: JournalFile, onProblem: (problem: string) => void): void {
  if (state.kind !== "missing" && state.kind !== "valid") onProblem(`${path} cannot be used: ${state.reason}`);
}

async function setAside(files: JournalFiles, onProblem: (problem: string) => void): Promise<void> {
  await files.rename(CURRENT, DAMAGED).catch((error: unknown) => onProblem(errorMessageOf(error)));
}

/** A damaged file that was set aside counts until an administrator has removed it. */
function whyEntriesAreLost({ path, state }: JournalFile): string | undefined {
  if (state.kind === "missing") return undefined;
  const reason = state.kind === "valid" ? "" : `: ${state.reason}`;
  return `${path} cannot be used${reason}; the original limits that only this file contained are lost. Joulie changes no other limit until an administrator has checked the limits of this machine (a reboot resets most) and removed ${DAMAGED}`;
}

async function readJournalFile(files: JournalFiles, name: string, clock: Clock): Promise<JournalFile> {
  const path = `${files.directory}/${name}`;
  for (let tried = 1; ; tried++) {
    try {
      return { path, state: stateOf(await files.read(name)) };
    } catch (error) {
      if (tried === READ_TRIES) return { path, state: { kind: "unreadable", reason: errorMessageOf(error) } };
      await clock.sleep(READ_PAUSE);
    }
  }
}

function stateOf(text: string | undefined): FileState {
  if (text === undefined) return { kind: "missing" };
  const read = readGeneration(text);
  if (read.good !== undefined) return { kind: "valid", generation: read.good };
  return { kind: read.newer === true ? "newerVersion" : "damaged", reason: read.damage };
}

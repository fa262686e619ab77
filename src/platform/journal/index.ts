export type { JournalEntry, JournalKey } from "./entry.ts";
export { type JournalFiles, journalFiles } from "./files.ts";
export { Journal } from "./journal.ts";

import { labels } from "../../../core/api/index.ts";
import {
  DRAINING_END,
  DRAINING_START,
  END,
  NAME_END,
  NAME_ROW,
  NAME_START,
  NODE_ROW,
  PROFILE_END,
  PROFILE_START,
  RowTable,
  START,
} from "./candidates.ts";
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE, RequestError } from "./json-bytes.ts";
import { JsonCursor } from "./json-cursor.ts";
import type { KnownNodes } from "./known-nodes.ts";

/** More nodes than the largest clusters have. A body of the largest size could name a hundred times as many. */
const MAX_CANDIDATES = 100_000;

/** The first byte of null. */
export const NULL = 0x6e;

const ITEMS = Buffer.from("items");
const METADATA = Buffer.from("metadata");
const NAME = Buffer.from("name");
const LABELS = Buffer.from("labels");

export interface LabelKeys {
  readonly powerProfile: string;
  readonly draining: string;
}

export interface LabelBytes {
  readonly powerProfile: Buffer;
  readonly draining: Buffer;
}

export const labelBytes = ({ powerProfile, draining }: LabelKeys): LabelBytes => ({
  powerProfile: Buffer.from(powerProfile),
  draining: Buffer.from(draining),
});
const defaultLabels = labelBytes(labels);

/** Position of a field's value. `shape` is its first byte; an absent field counts as null. */
export interface FieldLocation {
  readonly shape: number;
  readonly start: number;
  readonly end: number;
}

const absent: FieldLocation = { shape: NULL, start: 0, end: 0 };
const fields = ["pod", "nodes", "nodenames"] as const;
type Field = (typeof fields)[number];
/** Indexed by the length of the name, which is unique: most other keys are ruled out by their length. */
const byLength = Array.from({ length: 10 }, (_, length) => {
  const field = fields.find((name) => name.length === length);
  return field && { field, bytes: Buffer.from(field) };
});

export interface ScanOptions {
  readonly knownNodes?: KnownNodes;
  readonly tables?: CandidateTables;
  readonly labels?: LabelBytes;
}

interface CandidateTables {
  readonly nodes: RowTable;
  readonly names: RowTable;
}

export const createCandidateTables = (): CandidateTables => ({
  nodes: new RowTable(NODE_ROW),
  names: new RowTable(NAME_ROW),
});

/** One pass that records positions. Of a repeated key the last counts; keys with escapes are unknown keys. */
export class RequestScan {
  readonly found: Record<Field, FieldLocation> = { pod: absent, nodes: absent, nodenames: absent };
  items: FieldLocation = absent;
  readonly nodes: RowTable;
  readonly names: RowTable;
  readonly #cursor: JsonCursor;
  readonly #knownNodes: KnownNodes | undefined;
  readonly #labels: LabelBytes;

  constructor(body: Buffer, options: ScanOptions = {}) {
    const { knownNodes, tables = createCandidateTables(), labels: keys = defaultLabels } = options;
    this.#labels = keys;
    this.#cursor = new JsonCursor(body);
    this.#knownNodes = knownNodes;
    this.nodes = tables.nodes;
    this.names = tables.names;
    this.nodes.clear();
    this.names.clear();
    const cursor = this.#cursor;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      const field = this.#field();
      if (field === undefined) cursor.skipValue();
      else this.#readField(field);
    }
    cursor.expectEnd();
  }

  /** The Go struct has no JSON tags, so its fields match in any case: Pod, pod, POD. */
  #field(): Field | undefined {
    const cursor = this.#cursor;
    const likely = byLength[cursor.keyEnd - cursor.keyStart];
    return likely !== undefined && cursor.keyFoldsTo(likely.bytes) ? likely.field : undefined;
  }

  #readField(field: Field): void {
    const cursor = this.#cursor;
    const shape = cursor.peek();
    const start = cursor.at;
    if (field === "nodes") {
      this.items = absent;
      this.nodes.clear();
    }
    if (field === "nodenames") this.names.clear();
    if (field === "nodes" && shape === OPEN_OBJECT) this.#readNodeList();
    else if (field === "nodenames" && shape === OPEN_ARRAY) this.#readNames();
    else cursor.skipValue();
    this.found[field] = { shape, start, end: cursor.at };
  }

  #readNames(): void {
    const cursor = this.#cursor;
    const rows = this.names;
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      const row = this.#add(rows);
      if (cursor.peek() === QUOTE) {
        this.#readName(rows, row);
      } else {
        // Not a string: NAME_START stays 0, and NAME_END holds the position for the error message.
        rows.cells[row + NAME_END] = cursor.at;
        cursor.skipValue();
      }
    }
  }

  #readNodeList(): void {
    const cursor = this.#cursor;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (!cursor.keyIs(ITEMS)) {
        cursor.skipValue();
        continue;
      }
      this.nodes.clear();
      const shape = cursor.peek();
      const start = cursor.at;
      if (shape === OPEN_ARRAY) this.#readItems();
      else cursor.skipValue();
      this.items = { shape, start, end: cursor.at };
    }
  }

  #readItems(): void {
    const cursor = this.#cursor;
    for (let more = cursor.enterArray(); more; more = cursor.nextElement()) {
      const row = this.#add(this.nodes);
      const shape = cursor.peek();
      const start = cursor.at;
      if (shape === OPEN_OBJECT) this.#readNodeAt(start, row);
      else cursor.skipValue();
      this.nodes.cells[row + START] = start;
      this.nodes.cells[row + END] = cursor.at;
    }
  }

  #readNodeAt(start: number, row: number): void {
    const cursor = this.#cursor;
    const { cells } = this.nodes;
    const known = this.#knownNodes?.find(cursor.bytes, start) ?? -1;
    if (known >= 0) {
      cursor.at = this.#knownNodes?.place(known, start, cells, row) ?? start;
      return;
    }
    this.#readNode(row);
    this.#knownNodes?.keep(cursor.bytes, start, cursor.at, cells, row);
  }

  #readNode(row: number): void {
    const cursor = this.#cursor;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (!cursor.keyIs(METADATA)) {
        cursor.skipValue();
        continue;
      }
      this.nodes.cells[row + NAME_START] = 0;
      this.#forgetLabels(row);
      if (cursor.peek() === OPEN_OBJECT) this.#readMetadata(row);
      else cursor.skipValue();
    }
  }

  #readMetadata(row: number): void {
    const cursor = this.#cursor;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (cursor.keyIs(NAME)) {
        this.nodes.cells[row + NAME_START] = 0;
        if (cursor.peek() === QUOTE) this.#readName(this.nodes, row);
        else cursor.skipValue();
      } else if (cursor.keyIs(LABELS)) {
        this.#forgetLabels(row);
        if (cursor.peek() === OPEN_OBJECT) this.#readLabels(row);
        else cursor.skipValue();
      } else {
        cursor.skipValue();
      }
    }
  }

  #readLabels(row: number): void {
    const cursor = this.#cursor;
    const { powerProfile, draining } = this.#labels;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (cursor.keyIs(powerProfile)) this.#readLabel(row + PROFILE_START, row + PROFILE_END);
      else if (cursor.keyIs(draining)) this.#readLabel(row + DRAINING_START, row + DRAINING_END);
      else cursor.skipValue();
    }
  }

  /** Kubernetes accepts only letters, digits and -_. in a value: one with escapes counts as absent. */
  #readLabel(start: number, end: number): void {
    const cursor = this.#cursor;
    const { cells } = this.nodes;
    cells[start] = 0;
    if (cursor.peek() !== QUOTE) {
      cursor.skipValue();
      return;
    }
    const from = cursor.at + 1;
    if (!cursor.skipPlainString()) return;
    cells[start] = from;
    cells[end] = cursor.at - 1;
  }

  #forgetLabels(row: number): void {
    this.nodes.cells[row + PROFILE_START] = 0;
    this.nodes.cells[row + DRAINING_START] = 0;
  }

  #readName({ cells }: RowTable, row: number): void {
    const cursor = this.#cursor;
    const start = cursor.at + 1;
    if (!cursor.skipPlainString()) throw new RequestError(`the name at byte ${start} has an escape`);
    cells[row + NAME_START] = start;
    cells[row + NAME_END] = cursor.at - 1;
  }

  #add(rows: RowTable): number {
    if (rows.count >= MAX_CANDIDATES) {
      throw new RequestError(`more than ${MAX_CANDIDATES} nodes in one request at byte ${this.#cursor.at}`, 413);
    }
    return rows.add();
  }
}

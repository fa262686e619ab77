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
  START,
} from "./candidates.ts";
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-bytes.ts";
import { JsonCursor } from "./json-cursor.ts";
import type { KnownNodes } from "./known-nodes.ts";
import { AmbiguousKeyError, RequestError } from "./request-error.ts";
import { RowTable } from "./row-table.ts";

/** As many nodes as the largest clusters have; a body of the largest size could name a hundred times as many. */
const MAX_CANDIDATES = 100_000;

/** The first byte of null. */
export const NULL = 0x6e;

const ITEMS = Buffer.from("items");
const METADATA = Buffer.from("metadata");
const NAME = Buffer.from("name");
const LABELS = Buffer.from("labels");

/** The node labels that are read of whole Nodes. */
export interface LabelKeys {
  readonly powerProfile: string;
  readonly draining: string;
}

/** Label keys as they stand in a request. */
export interface LabelBytes {
  readonly powerProfile: Buffer;
  readonly draining: Buffer;
}

export const labelBytes = ({ powerProfile, draining }: LabelKeys): LabelBytes => ({
  powerProfile: Buffer.from(powerProfile),
  draining: Buffer.from(draining),
});
const defaultLabels = labelBytes(labels);

/** Where a field's value lies; `shape` is its first byte, and n (null) also where the field is absent. */
export interface FieldLocation {
  readonly shape: number;
  readonly start: number;
  readonly end: number;
}

const absent: FieldLocation = { shape: NULL, start: 0, end: 0 };
const fields = ["pod", "nodes", "nodenames"] as const;
type Field = (typeof fields)[number];
/** By the length of its name, which no two of them share; another key is told from them by a look or two. */
const byLength = Array.from({ length: 10 }, (_, length) => {
  const field = fields.find((name) => name.length === length);
  return field && { field, bytes: Buffer.from(field) };
});

/**
 * A key that comes twice, or that is written with escapes, is where readers of JSON differ. `surprise` leaves it to the worker;
 * `last` does as JSON.parse does.
 */
export type AmbiguousKeyPolicy = "surprise" | "last";

/** What was learnt from earlier requests and makes the next one short work; all of it can be absent. */
export interface ScanOptions {
  /** Nodes that were walked before need not be walked again. */
  readonly knownNodes?: KnownNodes | undefined;
  /** Where an earlier request's candidates stand, of which nobody thinks any more. */
  readonly tables?: CandidateTables | undefined;
  /** Joulie's own where they are not given. */
  readonly labels?: LabelBytes | undefined;
}

interface CandidateTables {
  readonly nodes: RowTable;
  readonly names: RowTable;
}

/** Room for the candidates of one request, and then of the next. */
export const createCandidateTables = (): CandidateTables => ({
  nodes: new RowTable(NODE_ROW),
  names: new RowTable(NAME_ROW),
});

/**
 * One walk over a request. It notes places and judges JSON alone; what the places must hold is for the reader to say once the
 * whole body is known, for a later value of the same key may replace an earlier one that would not do.
 */
export class RequestScan {
  readonly found: Record<Field, FieldLocation> = { pod: absent, nodes: absent, nodenames: absent };
  items: FieldLocation = absent;
  readonly nodes: RowTable;
  readonly names: RowTable;
  readonly #cursor: JsonCursor;
  readonly #unusual: AmbiguousKeyPolicy;
  readonly #known: KnownNodes | undefined;
  readonly #labels: LabelBytes;
  readonly #spellings: Record<Field, string> = { pod: "", nodes: "", nodenames: "" };

  constructor(body: Buffer, unusual: AmbiguousKeyPolicy, aids: ScanOptions = {}) {
    const { knownNodes: known, tables: room = createCandidateTables(), labels: keys = defaultLabels } = aids;
    this.#labels = keys;
    this.#cursor = new JsonCursor(body);
    this.#unusual = unusual;
    this.#known = known;
    this.nodes = room.nodes;
    this.names = room.names;
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

  /** Go's names have no tags and are found in any case: Pod, pod, POD. */
  #field(): Field | undefined {
    const cursor = this.#cursor;
    const likely = byLength[cursor.keyEnd - cursor.keyStart];
    let field = likely !== undefined && cursor.keyFoldsTo(likely.bytes) ? likely.field : undefined;
    if (cursor.escaped) field = fields.find((name) => name === this.#key().toLowerCase());
    if (field === undefined) return undefined;
    const key = this.#key();
    const before = this.#spellings[field];
    this.#once(before !== "", key);
    if (before !== "" && before !== key)
      throw new RequestError(`${before} is given twice, once as ${key}: send one of them`);
    this.#spellings[field] = key;
    return field;
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
        this.#readString(rows, row + NAME_START, row + NAME_END);
      } else {
        // Not a string: NAME_START stays 0, and NAME_END holds the position for the error message.
        rows.cells[row + NAME_END] = cursor.at;
        cursor.skipValue();
      }
    }
  }

  #readNodeList(): void {
    const cursor = this.#cursor;
    let seen = false;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (!this.#keyIs(ITEMS)) {
        cursor.skipValue();
        continue;
      }
      seen = this.#once(seen, "items");
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
    const known = this.#known?.find(cursor.bytes, start) ?? -1;
    if (known >= 0) {
      cursor.at = this.#known?.place(known, start, cells, row) ?? start;
      return;
    }
    this.#readNode(row);
    this.#known?.keep(cursor.bytes, start, cursor.at, cells, row);
  }

  #readNode(row: number): void {
    const cursor = this.#cursor;
    let seen = false;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (!this.#keyIs(METADATA)) {
        cursor.skipValue();
        continue;
      }
      seen = this.#once(seen, "metadata");
      this.nodes.cells[row + NAME_START] = 0;
      this.#forgetLabels(row);
      if (cursor.peek() === OPEN_OBJECT) this.#readMetadata(row);
      else cursor.skipValue();
    }
  }

  #readMetadata(row: number): void {
    const cursor = this.#cursor;
    const { cells } = this.nodes;
    let named = false;
    let labelled = false;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (this.#keyIs(NAME)) {
        named = this.#once(named, "name");
        cells[row + NAME_START] = 0;
        if (cursor.peek() === QUOTE) this.#readString(this.nodes, row + NAME_START, row + NAME_END);
        else cursor.skipValue();
      } else if (this.#keyIs(LABELS)) {
        labelled = this.#once(labelled, "labels");
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
    let profiled = false;
    let drained = false;
    for (let more = cursor.enterObject(); more; more = cursor.nextMember()) {
      cursor.readKey();
      if (this.#keyIs(powerProfile)) {
        profiled = this.#once(profiled, "the label of the profile");
        this.#readLabel(row + PROFILE_START, row + PROFILE_END);
      } else if (this.#keyIs(draining)) {
        drained = this.#once(drained, "the draining label");
        this.#readLabel(row + DRAINING_START, row + DRAINING_END);
      } else {
        cursor.skipValue();
      }
    }
  }

  #readLabel(start: number, end: number): void {
    this.nodes.cells[start] = 0;
    if (this.#cursor.peek() === QUOTE) this.#readString(this.nodes, start, end);
    else this.#cursor.skipValue();
  }

  #forgetLabels(row: number): void {
    this.nodes.cells[row + PROFILE_START] = 0;
    this.nodes.cells[row + DRAINING_START] = 0;
  }

  #readString(rows: RowTable, start: number, end: number): void {
    const cursor = this.#cursor;
    rows.cells[start] = cursor.at + 1;
    cursor.skipString();
    rows.cells[end] = cursor.escaped ? ~(cursor.at - 1) : cursor.at - 1;
  }

  #keyIs(name: Buffer): boolean {
    return this.#cursor.escaped ? this.#key() === name.toString() : this.#cursor.keyIs(name);
  }

  /** The last key as text. */
  #key(): string {
    const { bytes, keyStart, keyEnd, escaped } = this.#cursor;
    if (!escaped) return bytes.toString("utf8", keyStart, keyEnd);
    if (this.#unusual === "surprise") throw new AmbiguousKeyError(`a key with escapes at byte ${keyStart}`);
    return JSON.parse(bytes.toString("utf8", keyStart - 1, keyEnd + 1)) as string;
  }

  #once(before: boolean, key: string): true {
    if (before && this.#unusual === "surprise") {
      throw new AmbiguousKeyError(`${key} comes a second time at byte ${this.#cursor.keyStart}`);
    }
    return true;
  }

  #add(rows: RowTable): number {
    if (rows.count >= MAX_CANDIDATES) {
      throw new RequestError(`more than ${MAX_CANDIDATES} nodes in one request at byte ${this.#cursor.at}`, 413);
    }
    return rows.add();
  }
}

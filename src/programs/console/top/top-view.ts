import { type NodeSummary, totalsOver } from "../../../core/report/index.ts";
import type { Screen } from "../context.ts";
import { filterOf, isAscending, nodeColumns, sortedBy, sortKeys } from "../nodes/node-list.ts";
import { bar, cut, paintFor, powerText, sparkline, wrap } from "../output/screen.ts";

export interface TopState {
  readonly sortBy: string;
  readonly reversed: boolean;
  readonly filter: string;
  readonly grouped: boolean;
  readonly selected: number;
  readonly opened: { readonly node: string; readonly line: number } | undefined;
  readonly help: boolean;
  readonly typing: boolean;
  readonly done: boolean;
}

export const initialTop = (more: Partial<TopState> = {}): TopState => ({
  sortBy: "name",
  reversed: false,
  filter: "",
  grouped: true,
  selected: 0,
  opened: undefined,
  help: false,
  typing: false,
  done: false,
  ...more,
});

/** Lines that a key moves down; undefined for other keys. Home and End: of xterm, of its application mode, and of tmux and Linux. */
function movedBy(key: string, count: number, page: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    "\u001b[A": -1,
    "\u001b[B": 1,
    "\u001b[5~": -page,
    "\u001b[6~": page,
    "\u001b[H": -count,
    "\u001bOH": -count,
    "\u001b[1~": -count,
    "\u001b[F": count,
    "\u001bOF": count,
    "\u001b[4~": count,
  };
  return moves[key];
}

export function afterKey(state: TopState, key: string, shown: readonly string[], page: number): TopState {
  const count = shown.length;
  if (key === "\u0003") return { ...state, done: true };
  if (state.typing) return typed(state, key);
  if (state.help) return { ...state, help: false };
  if (state.opened !== undefined) {
    if (["q", "\u001b", "\r", "\n"].includes(key)) return { ...state, opened: undefined };
    const by = movedBy(key, DETAILS_LIMIT, page) ?? 0;
    const line = Math.max(0, Math.min(DETAILS_LIMIT, state.opened.line + by));
    return { ...state, opened: { ...state.opened, line } };
  }
  const move = (by: number): TopState => ({
    ...state,
    selected: Math.max(0, Math.min(count - 1, Math.min(state.selected, count - 1) + by)),
  });
  const sortAt = (by: number): TopState => {
    const at = (sortKeys.indexOf(state.sortBy) + by + sortKeys.length) % sortKeys.length;
    return { ...state, sortBy: sortKeys[at] ?? "name", selected: 0 };
  };
  const moved = movedBy(key, count, page);
  if (moved !== undefined) return move(moved);
  switch (key) {
    case "\r":
    case "\n": {
      const node = shown[Math.min(state.selected, count - 1)];
      return node === undefined ? state : { ...state, opened: { node, line: 0 } };
    }
    case "q":
      return { ...state, done: true };
    case "?":
      return { ...state, help: true };
    case "/":
      return { ...state, typing: true, filter: "", selected: 0 };
    case "g":
      return { ...state, grouped: !state.grouped };
    case "r":
      return { ...state, reversed: !state.reversed };
    case "\u001b[C":
      return sortAt(1);
    case "\u001b[D":
      return sortAt(-1);
    default:
      return state;
  }
}

function typed(state: TopState, key: string): TopState {
  if (key === "\r" || key === "\n") return { ...state, typing: false };
  if (key === "\u001b") return { ...state, typing: false, filter: "" };
  if (key === "\u007f" || key === "\b") return { ...state, filter: state.filter.slice(0, -1) };
  return /^[\u0020-\u007e]+$/.test(key) ? { ...state, filter: state.filter + key, selected: 0 } : state;
}

/** Sorting by a value concerns the whole list: the highest comes first, whatever its rack. */
const isGrouped = ({ grouped, sortBy }: TopState): boolean => grouped && sortBy === "name";

export function arranged(nodes: readonly NodeSummary[], state: TopState): NodeSummary[] {
  const { filter, sortBy, reversed } = state;
  const shown = sortedBy(nodes.filter(filterOf(filter)), sortBy, reversed);
  if (!isGrouped(state)) return shown;
  const groups = new Map<string, NodeSummary[]>();
  for (const node of shown) {
    const rack = node.rack ?? "";
    const group = groups.get(rack);
    if (group === undefined) groups.set(rack, [node]);
    else group.push(node);
  }
  return Array.from(groups)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([, group]) => group);
}

export interface TopFrame {
  readonly nodes: readonly NodeSummary[];
  /** Power of each node over time, the newest last. */
  readonly history: ReadonlyMap<string, readonly (number | undefined)[]>;
  readonly state: TopState;
  readonly details?: string | undefined;
  readonly screen: Screen;
  readonly rows: number;
  readonly error: string | undefined;
  /** A line and help of the program that runs this view. */
  readonly added?: string | undefined;
  readonly help?: readonly string[] | undefined;
  readonly notListed: readonly string[];
  readonly pending: readonly string[];
  /** Age of the data in seconds; undefined before the first reading. */
  readonly age: number | undefined;
}

const DETAILS_LIMIT = 500;
const HEAD_LINES = 4;
const SPARK = 12;

export const nodesPerScreen = (rows: number): number => Math.max(1, rows - HEAD_LINES - 1);

/** The lines of a frame. Only nodes on the screen are formatted, so that thousands of nodes cost nothing. */
export function topFrame(frame: TopFrame): readonly string[] {
  const { nodes, history, state, screen, rows, error, age } = frame;
  const paint = paintFor(screen);
  const columns = screen.columns ?? 120;
  if (state.help) return helpLines(frame.help ?? [], columns).slice(0, rows);
  if (state.opened !== undefined) return detailsFrame(frame, state.opened.line, columns);
  const ordered = arranged(nodes, state);
  const ageOfData = age === undefined ? "no data yet" : `data ${age} s old`;
  const unknown = unknownKinds(frame);
  const lines = [
    paint.bold(
      cut(
        `joulie top  ${ordered.length} of ${nodes.length} nodes  sorted by ${state.sortBy}${state.reversed ? " (reversed)" : ""}  ${ageOfData}  ? help`,
        columns,
      ),
    ),
    ...(frame.added === undefined ? [] : [paint.green(cut(frame.added, columns))]),
    cut(powerLine(nodes), columns),
    error !== undefined
      ? paint.yellow(cut(error, columns))
      : cut(state.typing || state.filter !== "" ? `/${state.filter}${state.typing ? "_" : ""}` : unknown, columns),
  ];
  const withRacks = isGrouped(state) && hasRacks(ordered);
  const { columns: shownColumns, widths: shownWidths } = fitting(
    columns - SPARK - 2,
    nameWidth(nodes, columns),
    withRacks,
    state.sortBy.toUpperCase(),
  );
  const mark = isAscending(state.sortBy, state.reversed) ? "▲" : "▼";
  const heads = shownColumns.map(({ head }) => (head === state.sortBy.toUpperCase() ? head + mark : head));
  const row = (texts: readonly string[]): string =>
    texts
      .map((text, at) =>
        shownColumns[at]?.right === true
          ? cut(text, shownWidths[at] ?? 0).padStart(shownWidths[at] ?? 0)
          : cut(text, shownWidths[at] ?? 0).padEnd(shownWidths[at] ?? 0),
      )
      .join("  ");
  lines.push(paint.bold(cut(`${row(heads)}  TREND`, columns)));
  const room = rows - lines.length;
  const selected = Math.max(0, Math.min(state.selected, ordered.length - 1));
  // A rack takes a line of its own, so the window is over lines, not nodes.
  const listed: (NodeSummary | string)[] = [];
  let selectedLine = 0;
  let rack: string | undefined;
  for (const [index, node] of ordered.entries()) {
    if (withRacks && rackName(node) !== rack) listed.push((rack = rackName(node)));
    if (index === selected) selectedLine = listed.length;
    listed.push(node);
  }
  const first = Math.max(0, Math.min(selectedLine - Math.floor(room / 2), listed.length - room));
  for (let at = first; at < listed.length && lines.length < rows; at++) {
    const line = listed[at] as NodeSummary | string;
    if (typeof line === "string") lines.push(paint.dim(cut(line, columns)));
    // The first line of the window names the rack, unless the selected node is there.
    else if (withRacks && at === first && at !== selectedLine) lines.push(paint.dim(cut(rackName(line), columns)));
    else {
      const cells = row(shownColumns.map(({ cell }) => cell(line)));
      const text = cut(`${cells}  ${sparkline(history.get(line.name) ?? [], SPARK)}`, columns);
      lines.push(at === selectedLine ? paint.inverse(text) : text);
    }
  }
  if (ordered.length === 0) lines.push(age === undefined ? "reading the cluster" : "no node matches");
  return lines.slice(0, rows);
}

function unknownKinds({ notListed, pending }: Pick<TopFrame, "notListed" | "pending">): string {
  const refused = notListed.filter((kind) => !pending.includes(kind));
  return [
    ...(refused.length === 0 ? [] : [`cannot list ${refused.join(", ")}: see joulie doctor`]),
    ...(pending.length === 0 ? [] : [`reading ${pending.join(", ")}`]),
  ].join("; ");
}

/** Compares only the nodes with a reading with their caps, so that the share is right if some have none. */
function powerLine(nodes: readonly NodeSummary[]): string {
  const { drawn, budgetWithPower: budget, managed, withPower } = totalsOver(nodes);
  if (drawn === undefined) return "power unknown: no node that is awake has a reading";
  const share = budget > 0 ? drawn / budget : undefined;
  const missing = managed - withPower;
  return [
    `${powerText(drawn)} of ${budget > 0 ? powerText(budget) : "-"} ${bar(share, 30)}`,
    ...(share === undefined ? [] : [`${Math.round(share * 100)} %`]),
    ...(missing === 0 ? [] : [` ${missing} ${missing === 1 ? "node has" : "nodes have"} no reading`]),
  ].join(" ");
}

const rackName = ({ rack }: NodeSummary): string => rack || "no rack";

const hasRacks = (nodes: readonly NodeSummary[]): boolean => nodes.some(({ rack }) => rack !== undefined);

/** Fixed widths, so that columns do not jump between frames. */
const widths: Readonly<Record<string, number>> = { CLASS: 11, USED: 11, RACK: 10, CPUS: 9, GPUS: 5, PSU: 5, PODS: 4 };
const DEFAULT_WIDTH = 8;
const MAX_NAME_LENGTH = 40;

/** Of all nodes, so that it changes only with the cluster. */
function nameWidth(nodes: readonly NodeSummary[], columns: number): number {
  let longest = 4;
  for (const { name } of nodes) longest = Math.max(longest, name.length);
  return Math.min(longest, MAX_NAME_LENGTH, Math.floor(columns / 3));
}

/** Bars are what this view is for: they go last. */
const dropOf = ({ head, drop = 0 }: NodeColumn): number => (head === "USED" ? 1 : drop);
type NodeColumn = (typeof nodeColumns)[number];

/** The sorted column stays, however narrow the screen is, and has room for its mark. */
function fitting(
  width: number,
  name: number,
  withRacks: boolean,
  sorted: string,
): { columns: typeof nodeColumns; widths: number[] } {
  const widthOf = ({ head }: NodeColumn): number => {
    const least = head === sorted ? head.length + 1 : head.length;
    return Math.max(least, head === "NAME" ? name : (widths[head] ?? DEFAULT_WIDTH));
  };
  // A line of its own names the rack of a group.
  let columns = nodeColumns.filter(({ wide, head }) => wide !== true && !(withRacks && head === "RACK"));
  const total = () => columns.reduce((sum, column) => sum + widthOf(column) + 2, 0);
  while (total() > width) {
    const [victim] = columns
      .filter((column) => dropOf(column) > 0 && column.head !== sorted)
      .toSorted((a, b) => dropOf(b) - dropOf(a));
    if (victim === undefined) break;
    columns = columns.filter((column) => column !== victim);
  }
  return { columns, widths: columns.map(widthOf) };
}

function detailsFrame({ screen, rows, details = "" }: TopFrame, from: number, columns: number): readonly string[] {
  const lines = details.trimEnd().split("\n");
  const room = Math.max(0, rows - 1);
  const first = Math.max(0, Math.min(from, lines.length - room));
  const head = `joulie top  up and down scroll, Escape goes back`;
  return [paintFor(screen).bold(cut(head, columns)), ...lines.slice(first, first + room)].slice(0, rows);
}

const HELP_INDENT = 15;

function wrapped(line: string, columns: number): string[] {
  if (line.length <= columns) return [line];
  const [first = "", ...rest] = wrap(line.slice(HELP_INDENT), columns - HELP_INDENT);
  return [line.slice(0, HELP_INDENT) + first, ...rest.map((more) => " ".repeat(HELP_INDENT) + more)];
}

function helpLines(added: readonly string[], columns: number): readonly string[] {
  const more = added.length === 0 ? [] : ["", ...added.map((line) => cut(line, columns))];
  return ["joulie top: any key goes back", "", ...KEYS.flatMap((line) => wrapped(line, columns)), ...more];
}

const KEYS: readonly string[] = [
  "  ?            this help",
  "  q, Ctrl-C    quit",
  "  /            filter: part of a name, class:eco, or a label such as joulie.io/rack=r1; Enter keeps it, Escape clears it",
  "  up, down     select; Page Up, Page Down, Home, End",
  "  Enter        show everything about the selected node; Escape goes back",
  "  left, right  sort the whole list by another column",
  "  r            reverse the order",
  "  g            group by rack, in the order of names",
];

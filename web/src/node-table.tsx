import { useComputed, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { type ColumnName, controlNames } from "../../src/programs/dashboard/wire.ts";
import { groupOf } from "./filter.ts";
import { age, percent, UNKNOWN, watts } from "./format.ts";
import { NodeLink } from "./node-link.tsx";
import { classColors } from "./palette.ts";
import { fleet, groupKey, groups, heard, isDark, selected, version, visible } from "./store.ts";

interface TableColumn {
  readonly title: string;
  readonly isNumber: boolean;
  /** What rows are sorted by. */
  readonly key: (slot: number) => number | string | null;
  readonly text: (slot: number) => string;
}

const number = (title: string, name: ColumnName, text: (value: number | null) => string): TableColumn => ({
  title,
  isNumber: true,
  key: (slot) => fleet.value(name, slot),
  text: (slot) => text(fleet.value(name, slot)),
});
const count = (value: number | null): string => (value === null ? UNKNOWN : String(value));

const columns: readonly TableColumn[] = [
  { title: "Node", isNumber: false, key: (slot) => fleet.names[slot] ?? "", text: (slot) => fleet.names[slot] ?? "" },
  { title: "Class", isNumber: false, key: (slot) => fleet.classOf(slot), text: (slot) => fleet.classOf(slot) },
  {
    title: "Group",
    isNumber: false,
    key: (slot) => groupOf(groups.value, slot),
    text: (slot) => groupOf(groups.value, slot) || UNKNOWN,
  },
  number("Power", "power", watts),
  number("Cap", "cap", watts),
  number("Uncapped", "tdp", watts),
  {
    title: "Used",
    isNumber: true,
    key: (slot) => fleet.usedPercent(slot),
    text: (slot) => percent(fleet.usedPercent(slot)),
  },
  number("Cooling", "cooling", percent),
  number("Supply", "psu", percent),
  number("Pods", "pods", count),
  number("Perf. pods", "performancePods", count),
  number("GPUs", "gpus", count),
  number("Control", "control", (value) => (value === null ? UNKNOWN : (controlNames[value] ?? UNKNOWN))),
  number("Updated", "updatedAt", (value) => (value === null ? UNKNOWN : `${age(value, heard.value.at)} ago`)),
];

const ROW = 28;
const SPARE = 8;
const collator = new Intl.Collator("en", { numeric: true });

/** The same nodes as the map. Only the rows on the screen exist, so that thousands stay fast. */
export function NodeTable() {
  const sort = useSignal({ column: 0, down: false });
  const top = useSignal(0);
  const height = useSignal(480);
  const box = useRef<HTMLDivElement>(null);

  const rows = useComputed<readonly number[]>(() => {
    const { column, down } = sort.value;
    const chosen = columns[column];
    // Sorted by name, the order does not depend on values.
    if (column !== 0) void version.value;
    if (chosen === undefined || (column === 0 && !down)) return visible.value;
    return visible.value.toSorted((one, other) => compare(chosen.key(one), chosen.key(other), down));
  });

  void version.value;
  const all = rows.value;
  const first = Math.max(0, Math.floor(top.value / ROW) - SPARE);
  const last = Math.min(all.length, Math.ceil((top.value + height.value) / ROW) + SPARE);
  const theme = isDark.value ? "dark" : "light";
  return (
    <div
      ref={box}
      class="table-box"
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboards scroll it
      tabIndex={0}
      role="region"
      aria-label="Table of nodes"
      onScroll={() => {
        top.value = box.current?.scrollTop ?? 0;
        height.value = box.current?.clientHeight ?? 480;
      }}
    >
      <table aria-rowcount={all.length + 1} aria-colcount={columns.length}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }, index) => (
              <th
                key={title}
                scope="col"
                class={isNumber ? "number" : undefined}
                aria-sort={sort.value.column === index ? (sort.value.down ? "descending" : "ascending") : "none"}
              >
                <button
                  type="button"
                  onClick={() =>
                    (sort.value = { column: index, down: sort.value.column === index ? !sort.value.down : isNumber })
                  }
                >
                  {title === "Group" ? groupKey.value || "Group" : title}
                  <span aria-hidden="true">{sort.value.column === index ? (sort.value.down ? " ▾" : " ▴") : ""}</span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr aria-hidden="true" style={{ height: `${first * ROW}px` }} class="spacer" />
          {all.slice(first, last).map((slot, index) => (
            <tr
              key={slot}
              aria-rowindex={first + index + 2}
              class={fleet.names[slot] === selected.value ? "selected" : undefined}
            >
              {columns.map(({ title, isNumber, text }, column) => (
                <td key={title} class={isNumber ? "number" : undefined}>
                  {column === 0 ? (
                    <NodeLink name={text(slot)} />
                  ) : column === 1 ? (
                    <ClassName slot={slot} color={classColors[fleet.classOf(slot)][theme]} />
                  ) : (
                    text(slot)
                  )}
                </td>
              ))}
            </tr>
          ))}
          <tr aria-hidden="true" style={{ height: `${(all.length - last) * ROW}px` }} class="spacer" />
        </tbody>
      </table>
      {all.length === 0 && <p class="empty">No node matches.</p>}
    </div>
  );
}

const ClassName = ({ slot, color }: { slot: number; color: string }) => (
  <span class="class-name">
    <span class="swatch" style={{ background: color }} aria-hidden="true" />
    {fleet.classOf(slot)}
  </span>
);

/** Unknown values come last, in either direction. */
function compare(one: number | string | null, other: number | string | null, down: boolean): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  const order =
    typeof one === "number" && typeof other === "number" ? one - other : collator.compare(String(one), String(other));
  return down ? -order : order;
}

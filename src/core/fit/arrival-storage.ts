import * as z from "zod";
import { type NodeConstraint, type PodPool, podRequests } from "../demand/index.ts";
import { milliseconds } from "../units/index.ts";
import type { RecordedArrivals } from "./arrival-history.ts";
import { type PodGroup, shapeKey } from "./pod-groups.ts";

const count = z.number().int().min(1);
const slots = z
  .array(z.tuple([z.number().int(), z.array(z.tuple([z.number().int().min(0), count])).max(64)]))
  .max(5000);
const text = z.string().max(512);
const labels = z.record(text, text);
const requirements = z.array(z.object({ key: text, operator: text, values: z.array(text).optional() })).max(64);
const constraint = z.object({
  selector: labels.optional(),
  terms: z
    .array(z.object({ matchExpressions: requirements.optional(), matchFields: requirements.optional() }))
    .max(64)
    .optional(),
  tolerations: z
    .array(
      z.object({ key: text.optional(), operator: text.optional(), value: text.optional(), effect: text.optional() }),
    )
    .max(64)
    .optional(),
});
const stored = z.object({
  version: z.literal(1),
  slotSeconds: z.number().positive(),
  end: z.number().int(),
  shapes: z.array(z.object({ amounts: z.record(text, z.number().min(0)), nodes: constraint })).max(4096),
  cpu: slots,
  gpu: slots,
});

/** Arrivals as JSON of at most `limit` characters: the oldest slots are left out if there are too many. */
export function encodeArrivals({ slot, end, slots: recorded }: RecordedArrivals, limit: number): string {
  let kept = recorded;
  for (;;) {
    const encoded = encode(slot / 1000, end, kept);
    if (encoded.length <= limit || (kept.cpu.length === 0 && kept.gpu.length === 0)) return encoded;
    kept = { cpu: newerHalf(kept.cpu), gpu: newerHalf(kept.gpu) };
  }
}

const newerHalf = <Item>(items: readonly Item[]): readonly Item[] => items.slice(Math.ceil(items.length / 2));

function encode(slotSeconds: number, end: number, recorded: RecordedArrivals["slots"]): string {
  const shapes: unknown[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (group: PodGroup): number => {
    const key = shapeKey(group);
    let index = indexes.get(key);
    if (index === undefined) {
      indexes.set(key, (index = shapes.length));
      shapes.push({ amounts: Object.fromEntries(group.requests.amounts), nodes: group.nodes });
    }
    return index;
  };
  const coded = (pool: PodPool) =>
    recorded[pool].map(([slot, groups]) => [slot, groups.map((group) => [indexOf(group), group.count])]);
  return JSON.stringify({ version: 1, slotSeconds, end, cpu: coded("cpu"), gpu: coded("gpu"), shapes });
}

/** Undefined if the text is damaged. */
export function decodeArrivals(encoded: string): RecordedArrivals | undefined {
  let raw: unknown;
  try {
    raw = JSON.parse(encoded);
  } catch {
    return undefined;
  }
  const read = stored.safeParse(raw);
  if (!read.success) return undefined;
  const { slotSeconds, end, shapes, cpu, gpu } = read.data;
  const known = shapes.map(({ amounts, nodes }) => ({
    requests: podRequests(new Map(Object.entries(amounts))),
    nodes: nodes as NodeConstraint,
  }));
  const groupsOf = (coded: typeof cpu) =>
    coded.map(([slot, groups]) => {
      const found = groups.flatMap(([index, pods]): PodGroup[] => {
        const shape = known[index];
        return shape === undefined ? [] : [{ ...shape, count: pods }];
      });
      return [slot, found] as const;
    });
  return { slot: milliseconds(slotSeconds * 1000), end, slots: { cpu: groupsOf(cpu), gpu: groupsOf(gpu) } };
}

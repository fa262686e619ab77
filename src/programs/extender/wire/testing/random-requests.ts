import { isUtf8 } from "node:buffer";

/** A small seeded generator (mulberry32), so that a failing document can be reproduced. */
export function seededDice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

type Dice = ReturnType<typeof seededDice>;

/** The extender rejects names that need an escape, and ignores such labels. Other strings are skipped. */
const hasNoEscape = (text: string): boolean => JSON.stringify(text) === `"${text}"`;

/** Serializes JSON at random: any key order, whitespace, escapes where a string needs some, and sometimes a repeated key. */
export function respell(value: unknown, roll: Dice, unusual = 0): string {
  const space = () => (roll(4) === 0 ? " \t\n\r".charAt(roll(4)).repeat(roll(3)) : "");
  const escaped = (part: string) =>
    Array.from({ length: part.length }, (_, i) => `\\u${part.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
  const respelled = (part: string) => {
    if (part.startsWith("\\") || roll(24) !== 0) return part;
    return part === "/" ? "\\/" : escaped(part);
  };
  const text = (plain: string, escapable: boolean) => {
    const plainly = JSON.stringify(plain);
    if (!escapable) return plainly;
    return `"${plainly.slice(1, -1).replaceAll(/\\u[0-9a-f]{4}|\\.|[\s\S]/gu, respelled)}"`;
  };
  const spell = (one: unknown): string => {
    if (typeof one === "string") return text(one, !hasNoEscape(one));
    if (Array.isArray(one)) return `[${one.map((part) => space() + spell(part) + space()).join(",") || space()}]`;
    if (typeof one !== "object" || one === null) return JSON.stringify(one);
    const members = Object.entries(one).toSorted(() => roll(3) - 1);
    // The first of two equal keys does not count.
    const before =
      roll(100) < unusual ? members.slice(0, 1).map(([key]) => [key, members.at(roll(members.length))?.[1]]) : [];
    const earlier = roll(2) === 0 ? before : before.map(([key]) => [key, {}]);
    const parts = [...earlier, ...members].map(
      ([key, part]) => `${space()}${JSON.stringify(key)}${space()}:${space()}${spell(part)}${space()}`,
    );
    return `{${parts.join(",") || space()}}`;
  };
  return space() + spell(value) + space();
}

export interface OracleReading {
  readonly kind: "names" | "nodes";
  readonly pod: unknown;
  readonly names: readonly string[];
  readonly profiles: readonly (string | undefined)[];
  readonly drainings: readonly (string | undefined)[];
  readonly items: readonly unknown[];
}

type Keyed = Record<string, unknown>;
const isObject = (value: unknown): value is Keyed =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const memberOf = (value: unknown, key: string) =>
  isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

/** Reads a request with JSON.parse only; undefined if it is invalid. */
export function readWithJsonParse(body: Buffer): OracleReading | undefined {
  if (!isUtf8(body)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  const fields: Keyed = {};
  for (const [key, value] of Object.entries(parsed)) {
    const folded = key.toLowerCase();
    if (!["pod", "nodes", "nodenames"].includes(folded)) continue;
    fields[folded] = value;
  }
  const { pod, nodes = null, nodenames = null } = fields;
  const items = memberOf(nodes, "items") ?? null;
  if (!isObject(pod)) return undefined;
  if (nodes !== null && !isObject(nodes)) return undefined;
  if (items !== null && !Array.isArray(items)) return undefined;
  if (nodenames !== null && !Array.isArray(nodenames)) return undefined;
  if (nodes === null && nodenames === null) return undefined;
  const listed: readonly unknown[] = items ?? [];
  const kind = listed.length === 0 && nodenames !== null ? "names" : "nodes";
  const names: unknown[] =
    kind === "names" ? (nodenames ?? []) : listed.map((item) => memberOf(memberOf(item, "metadata"), "name"));
  if (!names.every((name) => typeof name === "string" && name !== "" && hasNoEscape(name))) return undefined;
  const labelOf = (item: unknown, key: string): string | undefined => {
    const value = memberOf(memberOf(memberOf(item, "metadata"), "labels"), key);
    return typeof value === "string" && hasNoEscape(value) ? value : undefined;
  };
  return {
    kind,
    pod,
    names: names as string[],
    profiles: names.map((_, i) => labelOf(listed[i], "joulie.io/power-profile")),
    drainings: names.map((_, i) => labelOf(listed[i], "joulie.io/draining")),
    items: kind === "nodes" ? listed : [],
  };
}

/** A request with random nodes, pods and lists, and sometimes other JSON in their place. */
export function randomRequest(roll: Dice): unknown {
  const pick = <T>(...choices: readonly T[]): T => choices[roll(choices.length)] as T;
  const words = () =>
    pick("", "a", "node-1", "größe", "日本", "🙂", 'say "hi"', "back\\slash", "{[}]", "\u0000", "\ud800", "é/ü");
  const junk = (depth = 0): unknown =>
    depth > 3
      ? null
      : pick<() => unknown>(
          () => null,
          () => roll(2) === 0,
          () => pick(0, -0.5, 1e21, 12345678901, -7e-9),
          words,
          () => Array.from({ length: roll(4) }, () => junk(depth + 1)),
          () =>
            Object.fromEntries(
              Array.from({ length: roll(4) }, () => [pick(words(), "name", "items"), junk(depth + 1)]),
            ),
        )();
  const seldom = (value: unknown) => (roll(40) === 0 ? junk() : value);
  const name = () => seldom(roll(12) === 0 ? words() : `worker-${roll(50)}`);
  const node = () => ({
    ...(roll(3) === 0 ? { spec: junk() } : {}),
    metadata: seldom({
      ...(roll(2) === 0 ? { managedFields: [junk()] } : {}),
      name: name(),
      labels: seldom(
        pick<unknown>(
          { "joulie.io/power-profile": seldom(pick("eco", "performance")), "kubernetes.io/os": "linux" },
          { "joulie.io/power-profiles": "eco" },
          { "joulie.io/draining": seldom(pick("true", "false")), "joulie.io/power-profile": "eco" },
          null,
        ),
      ),
    }),
    status: junk(),
  });
  const upTo = (most: number, make: () => unknown) => Array.from({ length: roll(most + 1) }, make);
  const mode = roll(8);
  return seldom({
    [pick("Pod", "pod", "POD")]: seldom({ metadata: { name: "p", annotations: junk() }, spec: junk() }),
    ...(mode === 0
      ? {}
      : { [pick("Nodes", "nodes")]: seldom(mode < 5 ? { metadata: {}, items: seldom(upTo(4, node)) } : null) }),
    ...(mode === 1 ? {} : { [pick("NodeNames", "nodenames", "nodeNames")]: seldom(mode > 4 ? upTo(6, name) : null) }),
    ...(roll(4) === 0 ? { extra: junk() } : {}),
  });
}

/** Corrupts a document in a few places. */
export function mutate(body: Buffer, roll: Dice): Buffer {
  let bytes: Buffer = Buffer.from(body);
  for (let times = roll(3) + 1; times > 0; times--) {
    const at = roll(bytes.length + 1);
    const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
    const inserted =
      roll(3) === 0 ? Buffer.from([roll(256)]) : Buffer.from('"\\{}[]:,0-.eE+tnu \u0007'.charAt(roll(20)));
    const ways = [
      () => before,
      () => Buffer.concat([before, after.subarray(1 + roll(3))]),
      () => Buffer.concat([before, inserted, after]),
      () => Buffer.concat([before, inserted, after.subarray(1)]),
      () => Buffer.concat([before, bytes.subarray(roll(bytes.length + 1))]),
    ];
    bytes = (ways[roll(ways.length)] as () => Buffer)();
  }
  return bytes;
}

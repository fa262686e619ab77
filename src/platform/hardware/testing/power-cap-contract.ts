import assert from "node:assert/strict";
import { type Watts, watts } from "../../../core/units/index.ts";
import type { PowerCapBackend } from "../port.ts";
import { type ContractCase, casesFor } from "./contract-cases.ts";

/**
 * One world with one backend in it, as its test builds it: what the contract does to it, and what it sees past the backend.
 * Watts here are what the device itself says.
 */
export interface PowerCapFixture {
  readonly backend: PowerCapBackend;
  /** Ids of the boards that are there: two or more where the backend can have them. */
  readonly boards: readonly string[];
  /** A limit within every board's range and on its step, unlike the one in force. */
  readonly within: Watts;
  /** Limits above what any board takes. */
  readonly beyond: readonly Watts[];
  /** What the board itself says its limit is. */
  readonly truth: (id: string) => Watts | Promise<Watts>;
  /** All the boards' settings, to see whether they are as they were. */
  readonly state: () => unknown;
  /** Writes that reached the world so far, taken or not. */
  readonly writes: () => number;
  /** The board stops answering. */
  readonly lose: (id: string) => void;
  /** It may not be written: no rights, read-only, locked by firmware. */
  readonly forbid: (id: string) => void;
  /** A write to it fails for any other reason. */
  readonly spoil: (id: string) => void;
  /** It takes a write and keeps what it had. */
  readonly ignore: (id: string) => void;
  /** All this backend needs is gone: the driver, the library or the tool. */
  readonly vanish: () => void;
  readonly end?: () => void | Promise<void>;
}

/** What a kind of device cannot do or suffer; a tool that is told watts never sees a lost board, for one. */
type UnsupportedAction = "several" | "original" | "lose" | "forbid" | "spoil" | "ignore" | "vanish";

/** What every backend keeps, whatever it drives. What the device cannot do is named, so that nothing is left out in silence. */
export const powerCapCases = (
  make: () => PowerCapFixture | Promise<PowerCapFixture>,
  lacking: readonly UnsupportedAction[] = [],
): ReturnType<typeof casesFor> => casesFor(cases, make, lacking);

const cases: readonly ContractCase<PowerCapFixture, UnsupportedAction>[] = [
  {
    title: "finds every board, by ids that stay, and writes nothing while it looks",
    check: async ({ backend, boards, state, writes }) => {
      const before = state();
      assert.deepEqual(await idsOf(backend), [...boards].toSorted());
      assert.deepEqual(await idsOf(backend), [...boards].toSorted());
      for (const id of boards) {
        await backend.limit(id);
        await backend.original(id);
      }
      await backend.power?.();
      assert.equal(writes(), 0);
      assert.deepEqual(state(), before);
    },
  },
  {
    title: "says a range that makes sense, with the limit of this contract in it",
    check: async ({ backend, within }) => {
      for (const { device } of (await backend.discover()).boards ?? []) {
        for (const figure of Object.values(device))
          assert.ok(figure === undefined || typeof figure === "string" || figure > 0, String(figure));
        assert.ok((device.min ?? 0) <= within && within <= (device.max ?? Number.POSITIVE_INFINITY));
      }
    },
  },
  {
    title: "caps each board: the board itself says so, and so does the backend",
    check: async ({ backend, boards, within, truth }) => {
      for (const id of boards) {
        assert.notEqual(await truth(id), within, "the scene starts with another limit");
        assert.equal((await backend.limit(id)).limit, await truth(id));
        assert.deepEqual(resultOf(await backend.cap(id, within)), "applied");
        assert.equal(await truth(id), within);
        assert.equal((await backend.limit(id)).limit, within);
      }
    },
  },
  {
    title: "the same cap twice is the same cap",
    check: async ({ backend, boards, within, state }) => {
      const id = first(boards);
      assert.equal(resultOf(await backend.cap(id, within)), "applied");
      const capped = state();
      assert.equal(resultOf(await backend.cap(id, within)), "applied");
      assert.deepEqual(state(), capped);
    },
  },
  {
    title: "a board is put back exactly as it was, however often it was capped, and twice over",
    needs: ["original"],
    check: async ({ backend, boards, within, state }) => {
      const before = state();
      const originals = new Map<string, string>();
      for (const id of boards) originals.set(id, await originalOf(backend, id));
      for (const id of boards) {
        await backend.cap(id, within);
        await backend.cap(id, watts(within + 1));
      }
      for (let round = 0; round < 2; round += 1) {
        for (const [id, original] of originals) assert.equal(resultOf(await backend.restore(id, original)), "applied");
        assert.deepEqual(state(), before);
      }
    },
  },
  {
    title: "an original that says nothing is refused, and changes nothing",
    needs: ["original"],
    check: async ({ backend, boards, within, state }) => {
      const id = first(boards);
      await backend.cap(id, within);
      const capped = state();
      for (const nonsense of ["", "{", "null", "[]", '{"limit":-1}', '{"limit":"much"}', "-5", "NaN"]) {
        refused(await backend.restore(id, nonsense));
        assert.deepEqual(state(), capped, nonsense);
      }
    },
  },
  {
    title: "never masks: what no board takes is refused in words, and its limit stays",
    check: async ({ backend, boards, beyond, state }) => {
      const before = state();
      for (const limit of [...beyond, 0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e308]) {
        refused(await backend.cap(first(boards), watts(limit)));
        assert.deepEqual(state(), before, `${limit} W`);
      }
    },
  },
  {
    title: "a board nobody knows is no crash and no success",
    check: async ({ backend, state }) => {
      const before = state();
      for (const id of ["", "nobody", "../package-0", "package-99"]) {
        words((await backend.limit(id)).unreadable);
        words((await backend.original(id)).unreadable);
        refused(await backend.cap(id, watts(100)));
        refused(await backend.restore(id, "{}"));
      }
      assert.deepEqual(state(), before);
    },
  },
  {
    title: "a lost board is told, and stops no other",
    needs: ["several", "lose"],
    check: async ({ backend, boards, within, truth, lose }) => {
      const [lost = "", ...others] = boards;
      await backend.discover();
      lose(lost);
      const seen = (await backend.discover()).boards ?? [];
      const told = seen.find(({ id }) => id === lost);
      if (told !== undefined) words(told.lost);
      assert.equal(resultOf(await backend.cap(lost, within)), "error");
      words((await backend.limit(lost)).unreadable);
      words((await backend.original(lost)).unreadable);
      for (const id of others) {
        assert.equal(seen.find((board) => board.id === id)?.lost, undefined);
        assert.equal(resultOf(await backend.cap(id, within)), "applied");
        assert.equal(await truth(id), within);
      }
      const figure = (await backend.power?.())?.find(({ id }) => id === lost);
      assert.equal(figure?.power, undefined);
    },
  },
  {
    title: "what may not be written is blocked, says what to do, and stops no other",
    needs: ["forbid"],
    check: async ({ backend, boards, within, truth, forbid }) => {
      const [locked = "", ...others] = boards;
      const before = await truth(locked);
      forbid(locked);
      for (let tick = 0; tick < 3; tick += 1) {
        const outcome = await backend.cap(locked, within);
        assert.equal(outcome.result, "blocked", outcome.message);
        words(outcome.message);
      }
      assert.equal(await truth(locked), before);
      for (const id of others) assert.equal(resultOf(await backend.cap(id, within)), "applied");
    },
  },
  {
    title: "a write that fails is an error in words, and stops no other",
    needs: ["spoil"],
    check: async ({ backend, boards, within, truth, spoil }) => {
      const [broken = "", ...others] = boards;
      const before = await truth(broken);
      spoil(broken);
      const outcome = await backend.cap(broken, within);
      assert.equal(outcome.result, "error", outcome.message);
      words(outcome.message);
      assert.equal(await truth(broken), before);
      for (const id of others) assert.equal(resultOf(await backend.cap(id, within)), "applied");
    },
  },
  {
    title: "a limit that does not read back is never called applied",
    needs: ["ignore"],
    check: async ({ backend, boards, within, ignore }) => {
      ignore(first(boards));
      refused(await backend.cap(first(boards), within));
    },
  },
  {
    title: "says why it is absent, and fails in words from then on",
    needs: ["vanish"],
    check: async ({ backend, boards, within, vanish }) => {
      await backend.discover();
      vanish();
      words((await backend.discover()).absent);
      refused(await backend.cap(first(boards), within));
      words((await backend.limit(first(boards))).unreadable);
      words((await backend.original(first(boards))).unreadable);
      await backend.power?.();
    },
  },
  {
    title: "tells the power of a board as a figure, or why it has none",
    check: async ({ backend, boards }) => {
      for (const { id, power, missing } of (await backend.power?.()) ?? []) {
        assert.ok(boards.includes(id), id);
        if (power === undefined) words(missing);
        else assert.ok(Number.isFinite(power) && power >= 0, String(power));
      }
    },
  },
];

const first = (boards: readonly string[]): string => boards[0] ?? assert.fail("the scene has no board");

async function idsOf(backend: PowerCapBackend): Promise<string[]> {
  const view = await backend.discover();
  assert.equal(view.absent, undefined);
  return (view.boards ?? []).map(({ id }) => id).toSorted();
}

async function originalOf(backend: PowerCapBackend, id: string): Promise<string> {
  const { original, unreadable } = await backend.original(id);
  return original ?? assert.fail(unreadable);
}

type Outcome = Awaited<ReturnType<PowerCapBackend["cap"]>>;

/** A success needs no words; a failure does. */
function resultOf({ result, message }: Outcome): string {
  if (result !== "applied") words(message);
  return result;
}

function refused(outcome: Outcome): void {
  assert.notEqual(outcome.result, "applied");
  words(outcome.message);
}

function words(text: string | undefined): string {
  assert.ok(text !== undefined && text.trim().length > 0, "it says why");
  return text;
}

import assert from "node:assert/strict";
import { type Watts, watts } from "../../../core/units/index.ts";
import type { PowerCapBackend } from "../port.ts";
import { type ContractCase, casesFor } from "./contract-cases.ts";

/**
 * A backend with its test environment: how the contract changes the environment and what it observes without the backend.
 * Watts are the device's own values.
 */
export interface PowerCapFixture {
  readonly backend: PowerCapBackend;
  /** Ids of the boards: two or more if the backend supports that. */
  readonly boards: readonly string[];
  /** A limit within every board's range and on its step, different from the current one. */
  readonly within: Watts;
  /** Limits above every board's range. */
  readonly beyond: readonly Watts[];
  /** The limit in the device itself. */
  readonly truth: (id: string) => Watts | Promise<Watts>;
  /** All settings of the boards, to compare before and after. */
  readonly state: () => unknown;
  /** The number of writes so far, successful or not. */
  readonly writes: () => number;
  /** Makes the board unresponsive. */
  readonly lose: (id: string) => void;
  /** Makes the board unwritable: no permission, read-only, locked by firmware. */
  readonly forbid: (id: string) => void;
  /** Makes writes fail for any other reason. */
  readonly spoil: (id: string) => void;
  /** Makes the board accept writes without effect. */
  readonly ignore: (id: string) => void;
  /** Removes everything the backend needs: the driver, the library or the tool. */
  readonly vanish: () => void;
  readonly end?: () => void | Promise<void>;
}

/** Actions that a fixture does not support. */
type UnsupportedAction = "several" | "original" | "lose" | "forbid" | "spoil" | "ignore" | "vanish";

/** The rules for every power-cap backend. Fixtures list unsupported actions, so that no rule is skipped silently. */
export const powerCapCases = (
  make: () => PowerCapFixture | Promise<PowerCapFixture>,
  lacking: readonly UnsupportedAction[] = [],
): ReturnType<typeof casesFor> => casesFor(cases, make, lacking);

const cases: readonly ContractCase<PowerCapFixture, UnsupportedAction>[] = [
  {
    title: "finds every board with stable ids and writes nothing during discovery",
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
    title: "reports a valid range that contains the test limit",
    check: async ({ backend, within }) => {
      for (const { device } of (await backend.discover()).boards ?? []) {
        for (const value of Object.values(device))
          assert.ok(value === undefined || typeof value === "string" || value > 0, String(value));
        assert.ok((device.min ?? 0) <= within && within <= (device.max ?? Infinity));
      }
    },
  },
  {
    title: "caps each board; device and backend report the new limit",
    check: async ({ backend, boards, within, truth }) => {
      for (const id of boards) {
        assert.notEqual(await truth(id), within, "the fixture must start with another limit");
        assert.equal((await backend.limit(id)).limit, await truth(id));
        assert.deepEqual(resultOf(await backend.cap(id, within)), "applied");
        assert.equal(await truth(id), within);
        assert.equal((await backend.limit(id)).limit, within);
      }
    },
  },
  {
    title: "setting the same cap twice changes nothing",
    check: async ({ backend, boards, within, state }) => {
      const id = first(boards);
      assert.equal(resultOf(await backend.cap(id, within)), "applied");
      const capped = state();
      assert.equal(resultOf(await backend.cap(id, within)), "applied");
      assert.deepEqual(state(), capped);
    },
  },
  {
    title: "restores a board exactly after several caps, repeatedly",
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
    title: "rejects an invalid original and changes nothing",
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
    title: "rejects limits outside every range with a message and keeps the current limit",
    check: async ({ backend, boards, beyond, state }) => {
      const before = state();
      for (const limit of [...beyond, 0, -1, Number.NaN, Infinity, 1e308]) {
        refused(await backend.cap(first(boards), watts(limit)));
        assert.deepEqual(state(), before, `${limit} W`);
      }
    },
  },
  {
    title: "reports an unknown board as a failure",
    check: async ({ backend, state }) => {
      const before = state();
      for (const id of ["", "unknown", "../package-0", "package-99"]) {
        requireMessage((await backend.limit(id)).unreadable);
        requireMessage((await backend.original(id)).unreadable);
        refused(await backend.cap(id, watts(100)));
        refused(await backend.restore(id, "{}"));
      }
      assert.deepEqual(state(), before);
    },
  },
  {
    title: "reports a lost board and caps the others",
    needs: ["several", "lose"],
    check: async ({ backend, boards, within, truth, lose }) => {
      const [lost = "", ...others] = boards;
      await backend.discover();
      lose(lost);
      const seen = (await backend.discover()).boards ?? [];
      const lostBoard = seen.find(({ id }) => id === lost);
      if (lostBoard !== undefined) requireMessage(lostBoard.lost);
      assert.equal(resultOf(await backend.cap(lost, within)), "error");
      requireMessage((await backend.limit(lost)).unreadable);
      requireMessage((await backend.original(lost)).unreadable);
      for (const id of others) {
        assert.equal(seen.find((board) => board.id === id)?.lost, undefined);
        assert.equal(resultOf(await backend.cap(id, within)), "applied");
        assert.equal(await truth(id), within);
      }
      const reading = (await backend.power?.())?.find(({ id }) => id === lost);
      assert.equal(reading?.power, undefined);
    },
  },
  {
    title: "reports an unwritable board as blocked with a remedy and caps the others",
    needs: ["forbid"],
    check: async ({ backend, boards, within, truth, forbid }) => {
      const [locked = "", ...others] = boards;
      const before = await truth(locked);
      forbid(locked);
      for (let tick = 0; tick < 3; tick += 1) {
        const outcome = await backend.cap(locked, within);
        assert.equal(outcome.result, "blocked", outcome.message);
        requireMessage(outcome.message);
      }
      assert.equal(await truth(locked), before);
      for (const id of others) assert.equal(resultOf(await backend.cap(id, within)), "applied");
    },
  },
  {
    title: "reports a failed write as an error with a message and caps the others",
    needs: ["spoil"],
    check: async ({ backend, boards, within, truth, spoil }) => {
      const [broken = "", ...others] = boards;
      const before = await truth(broken);
      spoil(broken);
      const outcome = await backend.cap(broken, within);
      assert.equal(outcome.result, "error", outcome.message);
      requireMessage(outcome.message);
      assert.equal(await truth(broken), before);
      for (const id of others) assert.equal(resultOf(await backend.cap(id, within)), "applied");
    },
  },
  {
    title: "never reports a limit as applied that does not read back",
    needs: ["ignore"],
    check: async ({ backend, boards, within, ignore }) => {
      ignore(first(boards));
      refused(await backend.cap(first(boards), within));
    },
  },
  {
    title: "says why it is absent, and then fails with messages",
    needs: ["vanish"],
    check: async ({ backend, boards, within, vanish }) => {
      await backend.discover();
      vanish();
      requireMessage((await backend.discover()).absent);
      refused(await backend.cap(first(boards), within));
      requireMessage((await backend.limit(first(boards))).unreadable);
      requireMessage((await backend.original(first(boards))).unreadable);
      await backend.power?.();
    },
  },
  {
    title: "reports the power of a board or why it is missing",
    check: async ({ backend, boards }) => {
      for (const { id, power, missing } of (await backend.power?.()) ?? []) {
        assert.ok(boards.includes(id), id);
        if (power === undefined) requireMessage(missing);
        else assert.ok(Number.isFinite(power) && power >= 0, String(power));
      }
    },
  },
];

const first = (boards: readonly string[]): string => boards[0] ?? assert.fail("the fixture has no board");

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

/** Checks that a failure has a message. */
function resultOf({ result, message }: Outcome): string {
  if (result !== "applied") requireMessage(message);
  return result;
}

function refused(outcome: Outcome): void {
  assert.notEqual(outcome.result, "applied");
  requireMessage(outcome.message);
}

function requireMessage(text: string | undefined): string {
  assert.ok(text !== undefined && text.trim().length > 0, "it says why");
  return text;
}

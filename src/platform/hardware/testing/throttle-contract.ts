import assert from "node:assert/strict";
import type { WriteOutcome } from "../../../core/control/index.ts";
import { percent } from "../../../core/units/index.ts";
import type { ThrottleBackend } from "../port.ts";
import { type ContractCase, casesFor } from "./contract-cases.ts";

/** One world with one throttle in it, as its test builds it. */
export interface ThrottleFixture {
  readonly backend: ThrottleBackend;
  /** The share of the node that is throttled, as the world itself says, in percent. */
  readonly truth: () => number;
  /** All settings, to see whether they are as they were. */
  readonly state: () => unknown;
  readonly writes: () => number;
  /** Nothing may be written: no rights, read-only. */
  readonly forbid: () => void;
  /** Every write fails for any other reason. */
  readonly spoil: () => void;
  /** Writes are taken, and change nothing. */
  readonly ignore: () => void;
  readonly vanish: () => void;
  readonly end?: () => void | Promise<void>;
}

type UnsupportedAction = "original" | "forbid" | "spoil" | "ignore" | "vanish";

/** As `powerCapCases`, for what slows CPUs. */
export const throttleCases = (
  make: () => ThrottleFixture | Promise<ThrottleFixture>,
  lacking: readonly UnsupportedAction[] = [],
): ReturnType<typeof casesFor> => casesFor(cases, make, lacking);

const cases: readonly ContractCase<ThrottleFixture, UnsupportedAction>[] = [
  {
    title: "is there, and writes nothing while it looks or while nothing is to be throttled",
    check: async ({ backend, state, writes }) => {
      const before = state();
      assert.equal((await backend.discover()).absent, undefined);
      await backend.original();
      assert.equal((await backend.throttle(percent(0))).result, "applied");
      assert.equal(writes(), 0);
      assert.deepEqual(state(), before);
    },
  },
  {
    title: "throttles the share it is told, up and down, and the same share twice is one",
    check: async ({ backend, state, truth }) => {
      for (const share of [50, 100, 50, 0, 100]) {
        applied(await backend.throttle(percent(share)));
        assert.equal(truth(), share);
        const once = state();
        applied(await backend.throttle(percent(share)));
        assert.deepEqual(state(), once);
      }
    },
  },
  {
    title: "a share that makes no sense is none, or all",
    check: async ({ backend, truth }) => {
      for (const [share, meant] of [
        [-5, 0],
        [250, 100],
        [Number.NaN, 0],
        [1e308, 100],
      ] as const) {
        await backend.throttle(percent(share));
        assert.equal(truth(), meant, String(share));
      }
    },
  },
  {
    title: "is put back exactly as it was, and twice over",
    needs: ["original"],
    check: async ({ backend, state }) => {
      const before = state();
      const original = await originalOf(backend);
      for (const share of [50, 100]) applied(await backend.throttle(percent(share)));
      for (let round = 0; round < 2; round += 1) {
        applied(await backend.restore(original));
        assert.deepEqual(state(), before);
      }
    },
  },
  {
    title: "an original taken while throttled is still what was there before",
    needs: ["original"],
    check: async ({ backend, state }) => {
      const before = state();
      await backend.original();
      await backend.throttle(percent(100));
      applied(await backend.restore(await originalOf(backend)));
      assert.deepEqual(state(), before);
    },
  },
  {
    title: "an original that says nothing is refused, and changes nothing",
    needs: ["original"],
    check: async ({ backend, state }) => {
      await backend.throttle(percent(50));
      const throttled = state();
      for (const nonsense of ["", "{", "null", "[]", "{}", '{"0":{"max":-1,"min":0}}', '{"0":5}', "NaN"]) {
        refused(await backend.restore(nonsense));
        assert.deepEqual(state(), throttled, nonsense);
      }
    },
  },
  {
    title: "what may not be written is blocked, and says what to do",
    needs: ["forbid"],
    check: async ({ backend, truth, forbid }) => {
      forbid();
      const outcome = await backend.throttle(percent(100));
      assert.equal(outcome.result, "blocked");
      refused(outcome);
      assert.equal(truth(), 0);
    },
  },
  {
    title: "a write that fails is an error in words",
    needs: ["spoil"],
    check: async ({ backend, truth, spoil }) => {
      spoil();
      const outcome = await backend.throttle(percent(100));
      assert.equal(outcome.result, "error");
      refused(outcome);
      assert.equal(truth(), 0);
    },
  },
  {
    title: "a throttle that does not read back is never called applied",
    needs: ["ignore"],
    check: async ({ backend, ignore }) => {
      ignore();
      refused(await backend.throttle(percent(100)));
    },
  },
  {
    title: "says why it is absent, and fails in words from then on",
    needs: ["vanish"],
    check: async ({ backend, vanish }) => {
      vanish();
      assert.ok((await backend.discover()).absent);
      assert.ok((await backend.original()).unreadable);
      refused(await backend.throttle(percent(50)));
    },
  },
];

async function originalOf(backend: ThrottleBackend): Promise<string> {
  const { original, unreadable } = await backend.original();
  return original ?? assert.fail(unreadable);
}

function applied({ result, message }: WriteOutcome): void {
  assert.equal(result, "applied", message);
}

function refused({ result, message }: WriteOutcome): void {
  assert.notEqual(result, "applied");
  assert.ok(message !== undefined && message.trim().length > 0, "it says why");
}

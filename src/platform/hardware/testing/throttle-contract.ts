import assert from "node:assert/strict";
import type { WriteOutcome } from "../../../core/control/index.ts";
import { percent } from "../../../core/units/index.ts";
import type { ThrottleBackend } from "../port.ts";
import { type ContractCase, casesFor } from "./contract-cases.ts";

/** A throttle backend with its test environment. */
export interface ThrottleFixture {
  readonly backend: ThrottleBackend;
  /** The throttled share of the node in percent, read without the backend. */
  readonly truth: () => number;
  /** All settings, to compare before and after. */
  readonly state: () => unknown;
  readonly writes: () => number;
  /** Makes everything unwritable: no permission, read-only. */
  readonly forbid: () => void;
  /** Makes every write fail for any other reason. */
  readonly spoil: () => void;
  /** Makes writes succeed without effect. */
  readonly ignore: () => void;
  readonly vanish: () => void;
  readonly end?: () => void | Promise<void>;
}

type UnsupportedAction = "original" | "forbid" | "spoil" | "ignore" | "vanish";

/** The rules for every throttle backend, like `powerCapCases`. */
export const throttleCases = (
  make: () => ThrottleFixture | Promise<ThrottleFixture>,
  lacking: readonly UnsupportedAction[] = [],
): ReturnType<typeof casesFor> => casesFor(cases, make, lacking);

const cases: readonly ContractCase<ThrottleFixture, UnsupportedAction>[] = [
  {
    title: "writes nothing during discovery and at a throttle of 0 %",
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
    title: "throttles the requested share, up and down, and repeating a share changes nothing",
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
    title: "clamps an invalid share to 0 % or 100 %",
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
    title: "restores the original state exactly, repeatedly",
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
    title: "reports the original from before the throttle while throttled",
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
    title: "rejects an invalid original and changes nothing",
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
    title: "reports an unwritable node as blocked with a remedy",
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
    title: "reports a failed write as an error with a message",
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
    title: "never reports a throttle as applied that does not read back",
    needs: ["ignore"],
    check: async ({ backend, ignore }) => {
      ignore();
      refused(await backend.throttle(percent(100)));
    },
  },
  {
    title: "says why it is absent, and then fails with messages",
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

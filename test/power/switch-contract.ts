// What every power switch does, whatever is behind it.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type PowerSwitch, PowerSwitchError } from "../../src/platform/switch/index.ts";

export interface SwitchUnderTest {
  readonly machine: PowerSwitch;
  /** The machine itself. */
  readonly truth: { get(): Promise<"on" | "off">; set(state: "on" | "off"): Promise<void> };
  /** A switch of a machine that does not exist. */
  readonly stranger: PowerSwitch;
  close(): Promise<void>;
}

const never = new AbortController().signal;
const confirmed = async (): Promise<void> => undefined;

export function describePowerSwitch(name: string, open: () => Promise<SwitchUnderTest>): void {
  describe(`the power switch of ${name}`, () => {
    let under: SwitchUnderTest;
    beforeEach(async () => {
      under = await open();
    });
    afterEach(async () => {
      await Promise.all([under.machine.close(), under.stranger.close()]);
      await under.close();
    });

    it("SLP-05 reports on and off", async () => {
      for (const state of ["on", "off", "on"] as const) {
        await under.truth.set(state);
        expect(await under.machine.state(never)).toBe(state);
      }
    });

    it("SLP-05 switches on, shuts down and cuts the power", async () => {
      await under.truth.set("off");
      await under.machine.on(never, confirmed);
      expect(await under.truth.get()).toBe("on");
      await under.machine.shutdown(never, confirmed);
      expect(await under.truth.get()).toBe("off");
      await under.truth.set("on");
      await under.machine.forceOff(never, confirmed);
      expect(await under.truth.get()).toBe("off");
    });

    it("SLP-05 may be asked again for what is already so", async () => {
      await under.truth.set("on");
      await under.machine.on(never, confirmed);
      await under.machine.on(never, confirmed);
      expect(await under.truth.get()).toBe("on");
      for (const act of ["shutdown", "shutdown", "forceOff", "forceOff"] as const)
        await under.machine[act](never, confirmed);
      expect(await under.truth.get()).toBe("off");
    });

    it("X-130 asks for confirmation right before each request that changes power, and sends none if it is refused", async () => {
      await under.truth.set("on");
      for (const act of ["shutdown", "forceOff"] as const) {
        let asked = 0;
        const refuse = async () => {
          asked++;
          throw new Error("a pod has been bound");
        };
        await under.machine.state(never);
        await expect(under.machine[act](never, refuse)).rejects.toThrow("a pod has been bound");
        expect([asked, await under.truth.get()]).toEqual([1, "on"]);
      }
      await under.truth.set("off");
      await under.machine.state(never);
      await expect(under.machine.on(never, async () => Promise.reject(new Error("not leading")))).rejects.toThrow(
        "not leading",
      );
      expect(await under.truth.get()).toBe("off");
    });

    it("SLP-05 reports a machine that does not exist", async () => {
      for (const call of [
        under.stranger.state(never),
        under.stranger.on(never, confirmed),
        under.stranger.forceOff(never, confirmed),
      ])
        await expect(call).rejects.toMatchObject({ kind: "not_found" });
      await expect(under.stranger.state(never)).rejects.toBeInstanceOf(PowerSwitchError);
    });

    it("ends when its caller gives up", async () => {
      const gone = AbortSignal.abort(new Error("the caller gave up"));
      await expect(under.machine.state(gone)).rejects.toThrow("the caller gave up");
    });
  });
}

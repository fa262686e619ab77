import { describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { errno, FakeHost, type HostTree, joinTrees } from "../testing/fake-host.ts";
import { refuseWrites } from "../testing/fake-kernel.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { IntelGpuBackend } from "./intel-gpu.ts";

const address = (card: number): string => `0000:0${card + 3}:00.0`;
const id = (card: number): string => `pci-${address(card)}`;
const cardOf = (board: string): number => Number(board.at("pci-0000:0".length)) - 3;
const hwmon = (card: number): string => `devices/pci0000:00/${address(card)}/hwmon/hwmon${card}`;

function card(number: number, values: Readonly<Record<string, string>> = {}): HostTree {
  const device = `devices/pci0000:00/${address(number)}`;
  const own = {
    name: "xe",
    power1_max: "120000000",
    power1_rated_max: "120000000",
    energy1_input: "1000000",
    ...values,
  };
  return {
    files: Object.fromEntries(Object.entries(own).map(([file, text]) => [`${hwmon(number)}/${file}`, text])),
    links: {
      [`class/drm/card${number}`]: `../../${device}/drm/card${number}`,
      [`${device}/drm/card${number}/device`]: `../../../${address(number)}`,
    },
  };
}

function fixture(): PowerCapFixture {
  const host = new FakeHost(joinTrees(card(0), card(1, { name: "i915" })));
  const limit = (board: string): string => `${hwmon(cardOf(board))}/power1_max`;
  const refuse = (board: string, code: string): void =>
    void host.on(limit(board), {
      write: () => {
        throw errno(code);
      },
    });
  return {
    backend: new IntelGpuBackend({ files: host, clock: systemClock }),
    boards: [id(0), id(1)],
    within: watts(80),
    beyond: [watts(121), watts(5000)],
    truth: (board) => watts(Number(host.get(limit(board))) / 1e6),
    state: () => host.snapshot(),
    writes: () => host.writes.length,
    lose: (board) => host.remove(hwmon(cardOf(board))),
    forbid: (board) => refuse(board, "EROFS"),
    spoil: (board) => refuse(board, "EIO"),
    ignore: (board) => void host.on(limit(board), { write: () => undefined }),
    vanish: () => host.remove("class/drm"),
  };
}

describe("Intel GPUs fulfil the power-cap contract", () => {
  it.each(powerCapCases(fixture))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
});

it("X-70 reports a read-only /sys with its mount during discovery, without a write", async () => {
  const host = new FakeHost(card(0));
  const end = refuseWrites(host, /power1_max$/, "EROFS");
  const backend = new IntelGpuBackend({ files: host, clock: systemClock });
  expect((await backend.discover()).boards?.[0]?.locked).toContain("its limit: /host-sys is mounted read-only");
  end();
  expect((await backend.discover()).boards?.[0]?.locked).toBeUndefined();
  expect(host.writes).toEqual([]);
});

describe("Intel GPUs", () => {
  const gpu = (tree: HostTree, clock = new VirtualClock()) => {
    const host = new FakeHost(tree);
    return { host, clock, backend: new IntelGpuBackend({ files: host, clock }) };
  };

  it("quirk 9: never writes 0, which disables the limit, and never enables a disabled limit", async () => {
    const { host, backend } = gpu(joinTrees(card(0), card(1, { power1_max: "0" })));
    for (const limit of [0, 0.1, Number.NaN]) {
      expect(await backend.cap(id(0), watts(limit))).toMatchObject({ result: "error" });
    }
    expect(await backend.restore(id(0), "0")).toMatchObject({ result: "error" });
    const off = (await backend.discover()).boards?.[1];
    expect(off?.locked).toContain("disabled");
    expect(await backend.cap(id(1), watts(80))).toEqual({ result: "blocked", message: off?.locked });
    expect((await backend.original(id(1))).unreadable).toContain("disabled");
    expect(host.writes).toEqual([]);
  });

  it("restores a limit that another program disabled after our cap", async () => {
    const { host, backend } = gpu(card(0));
    const { original = "" } = await backend.original(id(0));
    await backend.cap(id(0), watts(80));
    host.set(`${hwmon(0)}/power1_max`, "0");
    expect(await backend.restore(id(0), original)).toEqual({ result: "applied" });
    expect(host.get(`${hwmon(0)}/power1_max`)).toBe("120000000");
    host.set(`${hwmon(0)}/power1_max`, "0");
    host.on(`${hwmon(0)}/power1_max`, { write: () => undefined });
    expect(await backend.restore(id(0), original)).toMatchObject({ result: "error" });
    host.remove(`${hwmon(0)}/power1_max`);
    expect(await backend.restore(id(0), original)).toMatchObject({ result: "error" });
  });

  it("finds another driver's card after a driver change", async () => {
    const { host, backend } = gpu(card(0, { name: "amdgpu" }));
    expect(await backend.discover()).toHaveProperty("absent");
    host.set(`${hwmon(0)}/name`, "xe");
    expect(await backend.discover()).toMatchObject({ boards: [{ id: id(0) }] });
  });

  it("searches a card again after it disappeared", async () => {
    const { host, backend } = gpu(card(0, { name: "i915_gt0" }));
    expect(await backend.discover()).toHaveProperty("absent");
    host.remove("class/drm/card0");
    expect(await backend.discover()).toHaveProperty("absent");
    host.link("class/drm/card0", `../../devices/pci0000:00/${address(0)}/drm/card0`);
    for (const [file, text] of Object.entries({ name: "i915", power1_max: "120000000" }))
      host.set(`${hwmon(0)}1/${file}`, text);
    expect(await backend.discover()).toMatchObject({ boards: [{ id: id(0) }] });
  });

  it("finds another driver's card after it gets one more hwmon", async () => {
    const { host, backend } = gpu(card(0, { name: "i915_gt0" }));
    expect(await backend.discover()).toHaveProperty("absent");
    for (const [file, text] of Object.entries({ name: "i915", power1_max: "120000000" }))
      host.set(`${hwmon(0)}1/${file}`, text);
    let looks = 0;
    while ("absent" in (await backend.discover())) expect(++looks).toBeLessThan(64);
  });

  it("does not write the burst limit power1_cap", async () => {
    const { host, backend } = gpu(card(0, { power1_cap: "200000000" }));
    expect(await backend.cap(id(0), watts(80))).toEqual({ result: "applied" });
    expect(host.get(`${hwmon(0)}/power1_cap`)).toBe("200000000");
    expect(host.get(`${hwmon(0)}/power1_max`)).toBe("80000000");
  });

  it("computes the mean power since the last sample from the available counter", async () => {
    const { host, clock, backend } = gpu(joinTrees(card(0), card(1, { energy1_input: "", energy2_input: "5000000" })));
    expect((await backend.power()).map(({ missing }) => missing !== undefined)).toEqual([true, true]);
    clock.advance(milliseconds(10_000));
    host.set(`${hwmon(0)}/energy1_input`, "901000000");
    host.set(`${hwmon(1)}/energy2_input`, "405000000");
    expect(await backend.power()).toEqual([
      { id: id(0), power: 90 },
      { id: id(1), power: 40 },
    ]);
    clock.advance(milliseconds(10_000));
    host.set(`${hwmon(0)}/energy1_input`, "0");
    host.remove(`${hwmon(1)}/energy2_input`);
    expect(await backend.power()).toEqual([
      { id: id(0), missing: expect.stringContaining("counter reset") },
      { id: id(1), missing: "its energy counter cannot be read" },
    ]);
  });

  it("computes no mean across a new limit", async () => {
    const { host, clock, backend } = gpu(card(0));
    await backend.power();
    clock.advance(milliseconds(10_000));
    host.set(`${hwmon(0)}/energy1_input`, "1001000000");
    await backend.cap(id(0), watts(80));
    clock.advance(milliseconds(10_000));
    host.set(`${hwmon(0)}/energy1_input`, "1801000000");
    expect(await backend.power()).toEqual([{ id: id(0), power: 80 }]);
  });

  it("reports a card without a limit as locked, with power", async () => {
    const { host, backend } = gpu(card(0));
    host.remove(`${hwmon(0)}/power1_max`);
    expect((await backend.discover()).boards?.[0]).toMatchObject({ id: id(0), vendor: "intel", device: { max: 120 } });
    expect(await backend.cap(id(0), watts(80))).toMatchObject({ result: "blocked" });
  });
});

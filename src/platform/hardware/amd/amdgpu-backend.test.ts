import { afterEach, describe, expect, it } from "vitest";
import { milliseconds, watts } from "../../../core/units/index.ts";
import { systemClock } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { HostDirectory } from "../host/host-directory.ts";
import { errno, FakeHost, type HostTree, joinTrees } from "../testing/fake-host.ts";
import { refuseWrites } from "../testing/fake-kernel.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { scratchTree } from "../testing/scratch-tree.ts";
import { AmdgpuBackend } from "./amdgpu-backend.ts";

const unique = (card: number): string => `5c88007d49b8e9e${card}`;
const boardOf = (id: string): number => Number(id.at(-1));
const deviceOf = (card: number): string => `devices/pci0000:00/0000:0${card + 1}:00.0`;
const hwmonOf = (card: number, number = card + 5): string => `${deviceOf(card)}/hwmon/hwmon${number}`;

/** A card like MI300X: its minimum is 0, and its power is in power1_input. */
function card(number: number, values: Readonly<Record<string, string>> = {}, hwmon = number + 5): HostTree {
  const own = {
    name: "amdgpu",
    power1_cap: "750000000",
    power1_cap_max: "750000000",
    power1_cap_min: "0",
    power1_cap_default: "750000000",
    power1_input: "191000000",
    ...values,
  };
  return {
    files: {
      ...Object.fromEntries(Object.entries(own).map(([file, text]) => [`${hwmonOf(number, hwmon)}/${file}`, text])),
      [`${deviceOf(number)}/unique_id`]: unique(number),
      [`${deviceOf(number)}/device`]: "0x74a1",
      [`${deviceOf(number)}/drm/card${number}/card${number}-DP-1/status`]: "disconnected",
    },
    links: {
      [`class/drm/card${number}`]: `../../${deviceOf(number)}/drm/card${number}`,
      [`class/drm/card${number}-DP-1`]: `../../${deviceOf(number)}/drm/card${number}/card${number}-DP-1`,
      [`${deviceOf(number)}/drm/card${number}/device`]: "../../../0000:0".concat(`${number + 1}:00.0`),
    },
  };
}

const without = (tree: HostTree, ...files: readonly string[]): HostTree => ({
  ...tree,
  files: Object.fromEntries(
    Object.entries(tree.files).filter(([path]) => !files.some((file) => path.endsWith(`/${file}`))),
  ),
});

const amdgpu = (files: FakeHost | HostDirectory): AmdgpuBackend => new AmdgpuBackend({ files, clock: systemClock });

function fixture(): PowerCapFixture {
  const host = new FakeHost(joinTrees(card(0), card(1)));
  const cap = (id: string): string => `${hwmonOf(boardOf(id))}/power1_cap`;
  for (const id of [unique(0), unique(1)]) {
    host.on(cap(id), {
      write: (text) => {
        if (!/^\d+$/.test(text.trim()) || Number(text) > 750_000_000) throw errno("EINVAL");
        return String(Math.floor(Number(text) / 1e6) * 1e6);
      },
    });
  }
  return {
    backend: amdgpu(host),
    boards: [unique(0), unique(1)],
    within: watts(500),
    beyond: [watts(751), watts(5000)],
    truth: (id) => watts(Number(host.get(cap(id))) / 1e6),
    state: () => host.snapshot(),
    writes: () => host.writes.length,
    lose: (id) => host.remove(hwmonOf(boardOf(id))),
    forbid: (id) =>
      void host.on(cap(id), {
        write: () => {
          throw errno("EACCES");
        },
      }),
    spoil: (id) =>
      void host.on(cap(id), {
        write: () => {
          throw errno("EIO");
        },
      }),
    ignore: (id) => void host.on(cap(id), { write: () => undefined }),
    vanish: () => {
      for (const number of [0, 1]) host.remove(deviceOf(number));
      host.remove("class/drm");
    },
  };
}

const removed: (() => void)[] = [];
afterEach(() => {
  for (const remove of removed.splice(0)) remove();
});

function realFixture(): PowerCapFixture {
  const tree = scratchTree(joinTrees(card(0), card(1)));
  removed.push(() => tree.remove());
  const host = new HostDirectory(tree.root);
  const cap = (id: string): string => `${hwmonOf(boardOf(id))}/power1_cap`;
  const text = (id: string): string => new HostDirectory(tree.root).read(cap(id));
  const unused = (): never => expect.unreachable("plain files do not do that");
  return {
    backend: amdgpu(host),
    boards: [unique(0), unique(1)],
    within: watts(500),
    beyond: [watts(751), watts(5000)],
    truth: (id) => watts(Number(text(id)) / 1e6),
    state: () => [unique(0), unique(1)].map(text),
    writes: () => 0,
    lose: unused,
    forbid: unused,
    spoil: unused,
    ignore: unused,
    vanish: unused,
    end: () => host.close(),
  };
}

describe("AGT-46 amdgpu fulfils the power-cap contract", () => {
  it.each(powerCapCases(fixture))("%s", async (_, check) => {
    await expect(check()).resolves.toBeUndefined();
  });
  it.each(powerCapCases(realFixture, ["lose", "forbid", "spoil", "ignore", "vanish"]))(
    "%s, on real files",
    async (_, check) => {
      await expect(check()).resolves.toBeUndefined();
    },
  );
});

it("X-70 reports a read-only /sys with its mount during discovery, without a write", async () => {
  const host = new FakeHost(joinTrees(card(0), card(1)));
  const end = refuseWrites(host, /power1_cap$/, "EROFS");
  const backend = amdgpu(host);
  const locked = async () => (await backend.discover()).boards?.map((board) => board.locked);
  expect(await locked()).toEqual(Array(2).fill(expect.stringContaining("its limit: /host-sys is mounted read-only")));
  end();
  expect(await locked()).toEqual([undefined, undefined]);
  expect(host.writes).toEqual([]);
});

describe("amdgpu", () => {
  const refusing = (code: string) => {
    const refuse = (): never => {
      throw errno(code);
    };
    return { read: refuse, write: refuse };
  };

  it("AGT-46 identifies boards by unique id, with range, default and model; a minimum of 0 is no minimum", async () => {
    const host = new FakeHost(joinTrees(card(0), card(1, { power1_cap_min: "241000000" })));
    host.set(`${deviceOf(1)}/product_name`, "AMD Instinct MI300X OAM");
    const [first, second] = (await amdgpu(host).discover()).boards ?? [];
    expect(first).toEqual({
      id: unique(0),
      vendor: "amd",
      model: "AMD GPU 0x74a1",
      device: { min: undefined, max: 750, step: 1 },
      defaultLimit: 750,
    });
    expect(second).toMatchObject({ model: "AMD Instinct MI300X OAM", device: { min: 241 } });
  });

  it("identifies a board without a unique id by its PCI address", async () => {
    const host = new FakeHost(without(card(0), "unique_id"));
    expect((await amdgpu(host).discover()).boards?.[0]?.id).toBe("pci-0000:01:00.0");
    host.set(`${deviceOf(0)}/unique_id`, "0");
    expect((await amdgpu(host).discover()).boards?.[0]?.id).toBe("pci-0000:01:00.0");
  });

  it("reads only the files of the requested board", async () => {
    const cards = Array.from({ length: 8 }, (_, number) => card(number));
    const host = new FakeHost(joinTrees(...cards));
    const backend = amdgpu(host);
    await backend.discover();
    await backend.power();
    host.reads.clear();
    expect(await backend.limit(unique(3))).toEqual({ limit: 750 });
    expect([...host.reads.keys()].filter((path) => !path.startsWith(deviceOf(3)))).toEqual([]);
  });

  it("quirk 20: recognises a board after its hwmon number changed", async () => {
    const host = new FakeHost(card(0));
    const backend = amdgpu(host);
    await backend.discover();
    const values = new Map(host.find(/hwmon5\//).map((path) => [path.replace("hwmon5", "hwmon2"), host.get(path)]));
    host.remove(hwmonOf(0));
    for (const [path, text] of values) host.set(path, text);
    expect(await backend.cap(unique(0), watts(500))).toEqual({ result: "applied" });
    expect(host.get(`${hwmonOf(0, 2)}/power1_cap`)).toBe("500000000");
  });

  it("quirk 24: reports a virtual function, which cannot set its cap, as blocked and then as locked", async () => {
    const host = new FakeHost(joinTrees(card(0), card(1)));
    host.on(`${hwmonOf(0)}/power1_cap`, {
      write: () => {
        throw errno("EINVAL");
      },
    });
    const backend = amdgpu(host);
    expect(await backend.cap(unique(0), watts(500))).toEqual({
      result: "blocked",
      message: expect.stringContaining("virtual function"),
    });
    const [guest, other] = (await backend.discover()).boards ?? [];
    expect(guest?.locked).toContain("virtual function");
    expect(other?.locked).toBeUndefined();
  });

  it("tries a virtual function again after a while, and locks it if it rejects the write again", async () => {
    const host = new FakeHost(card(0));
    const end = host.on(`${hwmonOf(0)}/power1_cap`, { write: refusing("EINVAL").write });
    const clock = new VirtualClock();
    const backend = new AmdgpuBackend({ files: host, clock });
    const locked = async (): Promise<boolean> => (await backend.discover()).boards?.[0]?.locked !== undefined;
    for (let round = 0; round < 2; round += 1) {
      await backend.cap(unique(0), watts(500));
      expect(await locked()).toBe(true);
      clock.advance(milliseconds(599_999));
      expect(await locked()).toBe(true);
      clock.advance(milliseconds(1));
      expect(await locked()).toBe(false);
    }
    await backend.cap(unique(0), watts(500));
    end();
    expect(await backend.restore(unique(0), "750")).toEqual({ result: "applied" });
    expect(await locked()).toBe(false);
  });

  it("does not treat a board that accepted a limit as a virtual function", async () => {
    const host = new FakeHost(card(0));
    const backend = amdgpu(host);
    await backend.cap(unique(0), watts(500));
    host.on(`${hwmonOf(0)}/power1_cap`, { write: refusing("EINVAL").write });
    expect(await backend.cap(unique(0), watts(400))).toMatchObject({ result: "error" });
    expect(await backend.restore(unique(0), "750")).toMatchObject({ result: "error" });
    expect((await backend.discover()).boards?.[0]?.locked).toBeUndefined();
  });

  it("reports EINVAL without a known range as an error, not as a virtual function", async () => {
    const host = new FakeHost(without(card(0), "power1_cap_max"));
    host.on(`${hwmonOf(0)}/power1_cap`, {
      write: () => {
        throw errno("EINVAL");
      },
    });
    expect(await amdgpu(host).cap(unique(0), watts(500))).toMatchObject({ result: "error" });
  });

  it.each(["EBUSY", "EPERM"])(
    "reports a board in reset (%s) as lost and its cap as an error; the others work",
    async (code) => {
      const host = new FakeHost(joinTrees(card(0), card(1)));
      const end = host.on(`${hwmonOf(0)}/power1_cap`, refusing(code));
      const backend = amdgpu(host);
      const [asleep, awake] = (await backend.discover()).boards ?? [];
      expect(asleep?.lost).toBe(`it is in reset or asleep (${code})`);
      expect(awake?.lost).toBeUndefined();
      expect(await backend.cap(unique(0), watts(500))).toEqual({ result: "error", message: asleep?.lost });
      expect(await backend.cap(unique(1), watts(500))).toEqual({ result: "applied" });
      end();
      expect((await backend.discover()).boards?.[0]?.lost).toBeUndefined();
    },
  );

  it("quirk 9: never writes a limit near 0 W", async () => {
    const host = new FakeHost(card(0));
    const backend = amdgpu(host);
    for (const limit of [0, 0.5, -1, Number.NaN, 1e-6]) {
      expect(await backend.cap(unique(0), watts(limit))).toMatchObject({ result: "error" });
      expect(await backend.restore(unique(0), String(limit))).toMatchObject({ result: "error" });
    }
    expect(host.writes).toEqual([]);
  });

  it("does not record a limit of 0 as the original", async () => {
    const host = new FakeHost(card(0, { power1_cap: "0" }));
    expect((await amdgpu(host).original(unique(0))).unreadable).toContain("0 W");
  });

  it("quirk 14: rejects a cap outside the current range and clamps an original to it", async () => {
    const host = new FakeHost(
      card(0, { power1_cap_max: "220000000", power1_cap: "220000000", power1_cap_min: "200000000" }),
    );
    const backend = amdgpu(host);
    expect(await backend.cap(unique(0), watts(244))).toEqual({
      result: "error",
      message: "244 W is outside its range (at least 200 W, at most 220 W)",
    });
    expect(await backend.cap(unique(0), watts(199))).toMatchObject({ result: "error" });
    expect(host.writes).toEqual([]);
    expect(await backend.restore(unique(0), "244")).toEqual({
      result: "applied",
      message: "244 W is out of range now: restored to 220 W",
    });
  });

  it("accepts that the driver truncates to whole watts", async () => {
    const host = new FakeHost(card(0));
    host.on(`${hwmonOf(0)}/power1_cap`, { write: (text) => String(Math.floor(Number(text) / 1e6) * 1e6) });
    expect(await amdgpu(host).cap(unique(0), watts(500.9))).toEqual({ result: "applied" });
  });

  it("does not list the second die of an MI250X, partitions and connectors as boards", async () => {
    const zero = { power1_cap: "0", power1_cap_max: "0", power1_average: "0" };
    const partition: HostTree = {
      files: { "devices/platform/amdgpu_xcp.1/drm/card9/dev": "226:9" },
      links: {
        "class/drm/card9": "../../devices/platform/amdgpu_xcp.1/drm/card9",
        "devices/platform/amdgpu_xcp.1/drm/card9/device": "../..",
      },
    };
    const bare = without(card(3), "power1_cap", "power1_cap_max", "power1_input");
    const host = new FakeHost(joinTrees(card(0), card(1, zero), partition, bare));
    const backend = amdgpu(host);
    expect((await backend.discover()).boards?.map(({ id }) => id)).toEqual([unique(0)]);
    expect(await backend.power()).toEqual([{ id: unique(0), power: 191 }]);
  });

  it("does not list a second die of an MI250X that has its board's id", async () => {
    const host = new FakeHost(joinTrees(card(0), card(1, { power1_cap_max: "0", power1_average: "0" })));
    host.set(`${deviceOf(1)}/unique_id`, unique(0));
    const backend = amdgpu(host);
    expect((await backend.discover()).boards).toHaveLength(1);
    expect(await backend.power()).toEqual([{ id: unique(0), power: 191 }]);
  });

  it("reports a card without a limit file as locked", async () => {
    const host = new FakeHost(without(card(0), "power1_cap", "power1_cap_max", "power1_cap_min"));
    const backend = amdgpu(host);
    expect((await backend.discover()).boards?.[0]?.locked).toContain("power1_cap is missing");
    expect(await backend.power()).toEqual([{ id: unique(0), power: 191 }]);
    expect(await backend.cap(unique(0), watts(300))).toMatchObject({ result: "error" });
  });

  it("reads power1_average or power1_input, and reports unreadable power as missing", async () => {
    const host = new FakeHost(
      joinTrees(card(0), card(1, { power1_average: "88000000" }), card(2, { power1_input: "N/A" })),
    );
    expect(await amdgpu(host).power()).toEqual([
      { id: unique(0), power: 191 },
      { id: unique(1), power: 88 },
      { id: unique(2), missing: expect.stringContaining("can be read") },
    ]);
  });

  it("X-65 is absent without a card and says what to load", async () => {
    expect((await amdgpu(new FakeHost({ files: {} })).discover()).absent).toContain("modprobe amdgpu");
  });
});

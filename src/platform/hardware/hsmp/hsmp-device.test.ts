import { rmSync } from "node:fs";
import { constants } from "node:os";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, type Watts, watts } from "../../../core/units/index.ts";
import { type Clock, systemClock, VirtualClock } from "../../clock/index.ts";
import { FakeHost, joinTrees } from "../testing/fake-host.ts";
import { emulateHsmp } from "../testing/fake-kernel.ts";
import { buildHsmpStub, type HsmpStub } from "../testing/hsmp-stub.ts";
import { hsmpTree } from "../testing/hsmp-trees.ts";
import { type PowerCapFixture, powerCapCases } from "../testing/power-cap-contract.ts";
import { epyc } from "../testing/powercap-trees.ts";
import { HsmpBackend } from "./hsmp-backend.ts";
import { HsmpDevice } from "./hsmp-device.ts";

const { EBUSY, EIO, EPERM, ENODEV, EREMOTEIO, ETIMEDOUT } = { EREMOTEIO: 121, ...constants.errno };
const KEYS = ["limit", "ceiling"];
/** An EPYC whose kernel has the driver and no hwmon files of it. */
const OLD_KERNEL = joinTrees(epyc, { files: { "module/amd_hsmp/refcnt": "0" } });
const IDS = ["package-0", "package-1"];
const socketOf = (id: string): number => Number(id.at(-1));

let stub: HsmpStub;
beforeAll(() => {
  stub = buildHsmpStub();
});
afterAll(() => stub.remove());
beforeEach(() => stub.reset(2));

const open: HsmpBackend[] = [];
afterEach(async () => {
  for (const socket of [0, 1]) stub.set(socket, "hang", 0);
  await Promise.all(open.splice(0).map(async (backend) => backend.close()));
});

function trial(more: { clock?: Clock; least?: Watts; most?: Watts; host?: FakeHost } = {}): HsmpBackend {
  const { clock = systemClock, host = new FakeHost(OLD_KERNEL) } = more;
  const device = new HsmpDevice({ clock, path: stub.device, library: stub.library });
  const backend = new HsmpBackend({
    files: host,
    clock,
    device,
    minPower: () => more.least,
    maxPower: () => more.most,
  });
  open.push(backend);
  return backend;
}

const state = (): unknown => [0, 1].map((socket) => KEYS.map((key) => stub.get(socket, key)));
const writes = (): number => stub.get(0, "writes") + stub.get(1, "writes");

function scene(): PowerCapFixture {
  stub.reset(2);
  return {
    backend: trial(),
    boards: IDS,
    within: watts(240.5),
    beyond: [watts(401), watts(5000)],
    truth: (id) => watts(stub.get(socketOf(id), "limit") / 1000),
    state,
    writes,
    lose: (id) => stub.set(socketOf(id), "lost", ETIMEDOUT),
    forbid: (id) => stub.set(socketOf(id), "setcode", EPERM),
    spoil: (id) => stub.set(socketOf(id), "setcode", EIO),
    ignore: (id) => stub.set(socketOf(id), "ignore", 1),
    vanish: () => rmSync(stub.device),
  };
}

describe("HSMP keeps the contract of power caps on /dev/hsmp", () => {
  it.each(powerCapCases(scene))("%s", async (_, check) => expect(check()).resolves.toBeUndefined());
});

describe("/dev/hsmp", () => {
  it("AGT-16 is used only where the kernel has no hwmon files", async () => {
    const host = new FakeHost(joinTrees(OLD_KERNEL, hsmpTree()));
    emulateHsmp(host);
    const backend = trial({ host });
    expect((await backend.cap("package-1", watts(200))).result).toBe("applied");
    expect(host.writes).toHaveLength(1);
    expect(writes()).toBe(0);
  });

  it("is left alone where HOST_SYS_ROOT shows no driver: it would be another machine's", async () => {
    const backend = trial({ host: new FakeHost(epyc) });
    expect((await backend.discover()).absent).toMatch(/\/dev\/hsmp/);
    expect((await backend.cap("package-0", watts(200))).result).toBe("error");
    expect(writes()).toBe(0);
  });

  it("is opened anew after the driver was loaded again, and a second socket that fails at first is told", async () => {
    stub.set(1, "lost", ETIMEDOUT);
    const backend = trial();
    expect((await backend.discover()).boards?.map(({ lost }) => lost)).toEqual([undefined, "package-1: ETIMEDOUT"]);
    stub.reset(0);
    expect((await backend.limit("package-0")).unreadable).toMatch(/ENODEV/);
    expect((await backend.discover()).absent).toBeDefined();
    stub.reset(2);
    expect((await backend.discover()).boards?.map(({ lost }) => lost)).toEqual([undefined, undefined]);
  });

  it("speaks of each socket by its number, in milliwatts", async () => {
    const backend = trial();
    expect((await backend.cap("package-1", watts(200.1234))).result).toBe("applied");
    expect([stub.get(0, "limit"), stub.get(1, "limit")]).toEqual([400_000, 200_123]);
    expect(await backend.limit("package-1")).toEqual({ limit: 200.123 });
  });

  it("finds as many sockets as there are, and one that comes to answer later", async () => {
    stub.reset(1);
    expect((await trial().discover()).boards?.map(({ id }) => id)).toEqual(["package-0"]);
    stub.reset(0);
    expect((await trial().discover()).absent).toMatch(/BIOS/);
    stub.reset(2);
    stub.set(0, "lost", ETIMEDOUT);
    const backend = trial();
    expect((await backend.discover()).absent).toMatch(/did not answer in time \(ETIMEDOUT\)/);
    stub.set(0, "lost", 0);
    expect((await backend.discover()).boards).toHaveLength(2);
  });

  it("a ceiling of the firmware that means nothing is bounded by the catalogue, and so is how low it goes", async () => {
    stub.set(0, "ceiling", 2_000_000);
    const backend = trial({ least: watts(320), most: watts(400) });
    const board = (await backend.discover()).boards?.[0];
    expect(board).toMatchObject({ device: { min: 320, max: 400 } });
    expect(board?.warnings?.join()).toMatch(/2000 W.*400 W/);
    expect((await backend.cap("package-0", watts(500))).result).toBe("error");
    expect((await backend.cap("package-0", watts(1.75))).message).toMatch(/between 320 W and 400 W/);
    expect(writes()).toBe(0);
  });

  it("firmware that settles elsewhere is told with both figures", async () => {
    stub.set(0, "settle", 225_000);
    expect(await trial().cap("package-0", watts(120))).toEqual({
      result: "error",
      message: "package-0: 120 W was written and the firmware settled at 225 W",
    });
  });

  it.each([
    ["ETIMEDOUT", ETIMEDOUT, "error", /did not answer in time/],
    ["EBUSY", EBUSY, "error", /busy/],
    ["EREMOTEIO", EREMOTEIO, "error", /refused the message/],
    ["ENODEV", ENODEV, "blocked", /BIOS/],
    ["EPERM", EPERM, "blocked", /run as root/],
  ])("X-70 %s is told in words", async (name, code, result, words) => {
    const backend = trial();
    await backend.discover();
    stub.set(0, "setcode", code);
    const outcome = await backend.cap("package-0", watts(200));
    expect(outcome).toEqual({ result, message: expect.stringMatching(words) });
    expect(outcome.message).toContain(name);
    expect((await backend.cap("package-1", watts(200))).result).toBe("applied");
  });

  it("proves control by setting the limit in force: a refusal locks the board, and ends with it", async () => {
    stub.set(0, "setcode", EPERM);
    const backend = trial();
    await backend.proveWritable();
    expect((await backend.discover()).boards?.map(({ locked }) => locked)).toEqual([
      expect.stringMatching(/no permission/),
      undefined,
    ]);
    expect(state()).toEqual([
      [400_000, 400_000],
      [400_000, 400_000],
    ]);
    stub.set(0, "setcode", 0);
    await backend.proveWritable();
    expect((await backend.discover()).boards?.[0]?.locked).toBeUndefined();
  });

  it("a firmware that hangs is given up after a while, and blocks neither the other socket nor the event loop", async () => {
    const clock = new VirtualClock();
    const backend = trial({ clock });
    await backend.discover();
    stub.set(0, "hang", 1);
    const hung = backend.limit("package-0");
    for (let turn = 0; turn < 20; turn++) await clock.advanceAsync(milliseconds(200));
    expect((await hung).unreadable).toMatch(/gave no answer within 2000 ms/);
    expect((await backend.limit("package-0")).unreadable).toMatch(/hangs/);
    expect(await backend.limit("package-1")).toEqual({ limit: 400 });
  });
});

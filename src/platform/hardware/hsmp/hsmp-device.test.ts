import { rmSync } from "node:fs";
import { constants } from "node:os";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { milliseconds, type Watts, watts } from "../../../core/units/index.ts";
import { type Clock, systemClock } from "../../clock/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
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
/** An EPYC whose kernel has the driver but no hwmon files. */
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

function setup(more: { clock?: Clock; most?: Watts; host?: FakeHost } = {}): HsmpBackend {
  const { clock = systemClock, host = new FakeHost(OLD_KERNEL) } = more;
  const device = new HsmpDevice({ clock, path: stub.device, library: stub.library });
  const backend = new HsmpBackend({
    files: host,
    clock,
    device,
    maxPower: () => more.most,
  });
  open.push(backend);
  return backend;
}

const state = (): unknown => [0, 1].map((socket) => KEYS.map((key) => stub.get(socket, key)));
const writes = (): number => stub.get(0, "writes") + stub.get(1, "writes");

function fixture(): PowerCapFixture {
  stub.reset(2);
  return {
    backend: setup(),
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

describe("HSMP fulfils the power-cap contract on /dev/hsmp", () => {
  it.each(powerCapCases(fixture))("%s", async (_, check) => expect(check()).resolves.toBeUndefined());
});

describe("/dev/hsmp", () => {
  it("AGT-16 is used only if the kernel has no hwmon files", async () => {
    const host = new FakeHost(joinTrees(OLD_KERNEL, hsmpTree()));
    emulateHsmp(host);
    const backend = setup({ host });
    expect((await backend.cap("package-1", watts(200))).result).toBe("applied");
    expect(host.writes).toHaveLength(1);
    expect(writes()).toBe(0);
  });

  it("is not used if HOST_SYS_ROOT shows no driver", async () => {
    const backend = setup({ host: new FakeHost(epyc) });
    expect((await backend.discover()).absent).toMatch(/\/dev\/hsmp/);
    expect((await backend.cap("package-0", watts(200))).result).toBe("error");
    expect(writes()).toBe(0);
  });

  it("is opened again after a driver reload, and reports a second socket that fails at first", async () => {
    stub.set(1, "lost", ETIMEDOUT);
    const backend = setup();
    expect((await backend.discover()).boards?.map(({ lost }) => lost)).toEqual([undefined, "package-1: ETIMEDOUT"]);
    stub.reset(0);
    expect((await backend.limit("package-0")).unreadable).toMatch(/ENODEV/);
    expect((await backend.discover()).absent).toBeDefined();
    stub.reset(2);
    expect((await backend.discover()).boards?.map(({ lost }) => lost)).toEqual([undefined, undefined]);
  });

  it("addresses each socket by number, in milliwatts", async () => {
    const backend = setup();
    expect((await backend.cap("package-1", watts(200.1234))).result).toBe("applied");
    expect([stub.get(0, "limit"), stub.get(1, "limit")]).toEqual([400_000, 200_123]);
    expect(await backend.limit("package-1")).toEqual({ limit: 200.123 });
  });

  it("finds all sockets, including one that responds later", async () => {
    stub.reset(1);
    expect((await setup().discover()).boards?.map(({ id }) => id)).toEqual(["package-0"]);
    stub.reset(0);
    expect((await setup().discover()).absent).toMatch(/BIOS/);
    stub.reset(2);
    stub.set(0, "lost", ETIMEDOUT);
    const backend = setup();
    expect((await backend.discover()).absent).toMatch(/did not respond in time \(ETIMEDOUT\)/);
    stub.set(0, "lost", 0);
    expect((await backend.discover()).boards).toHaveLength(2);
  });

  it("limits an implausible firmware range to the catalogue's", async () => {
    stub.set(0, "ceiling", 2_000_000);
    const backend = setup({ most: watts(400) });
    const board = (await backend.discover()).boards?.[0];
    expect(board).toMatchObject({ device: { max: 400 } });
    expect(board?.warnings?.join()).toMatch(/2000 W.*400 W/);
    expect((await backend.cap("package-0", watts(500))).result).toBe("error");
    expect(writes()).toBe(0);
  });

  it("reports both values if the firmware sets another limit", async () => {
    stub.set(0, "settle", 225_000);
    expect(await setup().cap("package-0", watts(120))).toEqual({
      result: "error",
      message: "package-0: wrote 120 W but the firmware set 225 W",
    });
  });

  it.each([
    ["ETIMEDOUT", ETIMEDOUT, "error", /did not respond in time/],
    ["EBUSY", EBUSY, "error", /busy/],
    ["EREMOTEIO", EREMOTEIO, "error", /rejected the message/],
    ["ENODEV", ENODEV, "blocked", /BIOS/],
    ["EPERM", EPERM, "blocked", /as root/],
  ])("X-70 explains %s", async (name, code, result, expectedText) => {
    const backend = setup();
    await backend.discover();
    stub.set(0, "setcode", code);
    const outcome = await backend.cap("package-0", watts(200));
    expect(outcome).toEqual({ result, message: expect.stringMatching(expectedText) });
    expect(outcome.message).toContain(name);
    expect((await backend.cap("package-1", watts(200))).result).toBe("applied");
  });

  it("tests control by writing the current limit; a rejection locks the board until a write succeeds", async () => {
    stub.set(0, "setcode", EPERM);
    const backend = setup();
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

  it("abandons hung firmware calls without blocking the other socket or the event loop", async () => {
    const clock = new VirtualClock();
    const backend = setup({ clock });
    await backend.discover();
    stub.set(0, "hang", 1);
    const hung = backend.limit("package-0");
    for (let turn = 0; turn < 20; turn++) await clock.advanceAsync(milliseconds(200));
    expect((await hung).unreadable).toMatch(/did not return within 2000 ms/);
    expect((await backend.limit("package-0")).unreadable).toMatch(/hangs/);
    expect(await backend.limit("package-1")).toEqual({ limit: 400 });
  });
});

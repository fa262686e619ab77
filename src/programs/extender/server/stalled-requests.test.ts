import { beforeEach, describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../../platform/clock/index.ts";
import { ReceivedBody, StalledRequests } from "./stalled-requests.ts";

const KI = 1024;
let clock: VirtualClock;
let isPressed: boolean;
let stalled: StalledRequests;
beforeEach(() => {
  clock = new VirtualClock();
  isPressed = false;
  stalled = new StalledRequests(clock, () => isPressed);
});

/** For how many seconds a body with that many bytes per quarter of a second is received, at most 20. */
function secondsUntilCut(bytes: number): number {
  const statuses: number[] = [];
  const body = new ReceivedBody((reason) => statuses.push(reason.status));
  stalled.watchBody(body);
  let checks = 0;
  for (; checks < 80 && statuses.length === 0; checks++) {
    body.received += bytes;
    clock.advance(milliseconds(250));
  }
  stalled.unwatchBody(body);
  expect(statuses).toEqual(checks < 80 ? [408] : []);
  return checks / 4;
}

describe("X-62 a body must make progress", () => {
  it.each([
    [false, 0, 2],
    [false, 16 * KI - 1, 2],
    [false, 16 * KI, 20],
    [true, 16 * KI, 0.5],
    [true, 256 * KI - 1, 0.5],
    [true, 256 * KI, 20],
  ])("others wait for memory: %s, %i bytes per quarter of a second: aborted after %d s", (pressed, bytes, seconds) => {
    isPressed = pressed;
    expect(secondsUntilCut(bytes)).toBe(seconds);
  });

  it("tolerates a short pause", () => {
    let isCut = false;
    const body = new ReceivedBody(() => (isCut = true));
    stalled.watchBody(body);
    for (let check = 1; check <= 40; check++) {
      if (check % 7 === 0) body.received += 16 * KI;
      clock.advance(milliseconds(250));
    }
    expect(isCut).toBe(false);
  });
});

it("X-62 drops an answer that the client does not read only while others wait for memory", () => {
  let isDropped = false;
  const answer = { destroy: () => (isDropped = true) };
  stalled.watchAnswer(answer);
  clock.advance(milliseconds(20_000));
  expect(isDropped).toBe(false);
  isPressed = true;
  clock.advance(milliseconds(1900));
  expect(isDropped).toBe(false);
  clock.advance(milliseconds(600));
  expect(isDropped).toBe(true);
});

it("sets no timer while there is nothing to check", () => {
  const body = new ReceivedBody(() => undefined);
  stalled.watchBody(body);
  stalled.unwatchBody(body);
  clock.advance(milliseconds(250));
  expect(clock.waiting).toBe(0);
});

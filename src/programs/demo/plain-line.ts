import { countStates } from "./node-tiles.ts";
import { kilowattHours, kilowatts, speedText, timeOfDay } from "./quantities.ts";
import type { ViewData } from "./view-data.ts";

/** One status line for output that is not a terminal. */
export function plainLine(frame: ViewData): string {
  const { drains, sleep, pods, energy, power } = frame;
  const { performance, eco, draining, asleep, stopping, waking } = countStates(frame.racks);
  return [
    `${timeOfDay(frame.time)} ${speedText(frame.speed)}`,
    `${kilowatts(power.drawn)} of ${kilowatts(power.capped)}`,
    `${performance} performance, ${eco} eco${sleep === undefined ? `, ${draining} draining` : `, ${asleep} asleep, ${stopping + waking} between`}`,
    ...(drains === undefined ? [] : [`drains ${drains.deferred} deferred, ${drains.completed} completed`]),
    ...(sleep === undefined ? [] : [`sleeps ${sleep.sleeps}, wakes ${sleep.wakes}`]),
    `pods ${pods.running} running, ${pods.waiting} waiting, ${pods.finished} finished`,
    energy === undefined
      ? "no energy counted yet"
      : `${kilowattHours(energy.usedKwh)}, ${kilowattHours(energy.notUsedKwh.estimate)} saved`,
  ].join(" | ");
}

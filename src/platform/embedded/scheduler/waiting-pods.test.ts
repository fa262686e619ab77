import { describe, expect, it } from "vitest";
import { milliseconds } from "../../../core/units/index.ts";
import { VirtualClock } from "../../clock/testing/index.ts";
import { podViewOf, type SchedulerPod } from "./cluster-view.ts";
import { WaitingPods } from "./waiting-pods.ts";

const ms = milliseconds;
const pod = (name: string, priority = 0, spec: object = {}, uid = name): SchedulerPod =>
  podViewOf(
    { metadata: { name, namespace: "default", uid }, spec: { priority, ...spec } } as never,
    "default-scheduler",
  );

function waiting() {
  const clock = new VirtualClock();
  let wakes = 0;
  const pods = new WaitingPods(clock, () => wakes++);
  const order = () => {
    const names: string[] = [];
    for (let next = pods.next(); next !== undefined; next = pods.next()) names.push(next.pod.name);
    return names;
  };
  return { clock, pods, order, wakes: () => wakes };
}

describe("WaitingPods", () => {
  it("returns pods by priority, then by arrival, each once", () => {
    const { pods, order, wakes } = waiting();
    for (const one of [pod("a"), pod("b", 10), pod("c"), pod("d", 10)]) pods.offer(one);
    expect(order()).toEqual(["b", "d", "a", "c"]);
    expect(wakes()).toBe(4);
  });

  it("keeps one entry per pod, and treats a recreated pod of the same name as a new one", () => {
    const { pods } = waiting();
    pods.offer(pod("a"));
    pods.offer(pod("a"));
    pods.offer(pod("a", 5, {}, "reborn"));
    expect(pods.next()?.pod.uid).toBe("reborn");
    expect(pods.next()).toBeUndefined();
  });

  it("doubles the backoff from one second to ten", () => {
    const { clock, pods, order } = waiting();
    for (const [attempts, seconds] of [1, 2, 4, 8, 10, 10].entries()) {
      pods.fail(pod("a"), attempts, true);
      clock.advance(ms(seconds * 1000 - 1));
      expect(order()).toEqual([]);
      clock.advance(ms(1));
      expect(order()).toEqual(["a"]);
    }
  });

  it("wakes only pods that the change may help", () => {
    const { clock, pods, order } = waiting();
    for (const name of ["a", "b"]) pods.fail(pod(name), 0, false);
    clock.advance(ms(60_000));
    pods.retryWhere(({ name }) => name === "b");
    expect(order()).toEqual(["b"]);
  });

  it("retries an unschedulable pod after a relevant change or five minutes", () => {
    const { clock, pods, order } = waiting();
    pods.fail(pod("a"), 0, false);
    clock.advance(ms(60_000));
    expect(order()).toEqual([]);
    pods.retryWhere(() => true);
    expect(order()).toEqual(["a"]);
    pods.fail(pod("a"), 3, false);
    pods.retryWhere(() => true);
    expect(order()).toEqual([]);
    clock.advance(ms(8000));
    expect(order()).toEqual(["a"]);
    pods.fail(pod("a"), 0, false);
    clock.advance(ms(300_000));
    expect(order()).toEqual(["a"]);
  });

  it("retries a pod whose requests changed, but not one whose status alone changed", () => {
    const { clock, pods, order } = waiting();
    pods.fail(pod("a"), 0, false);
    clock.advance(ms(2000));
    pods.offer(pod("a"));
    expect(order()).toEqual([]);
    pods.offer(pod("a", 0, { tolerations: [{ operator: "Exists" }] }));
    expect(order()).toEqual(["a"]);
  });

  it("removes a pod from every queue, including its timers", () => {
    const { clock, pods, order } = waiting();
    pods.offer(pod("active"));
    pods.fail(pod("later"), 0, true);
    pods.fail(pod("stuck"), 0, false);
    for (const name of ["active", "later", "stuck"]) pods.forget(`default/${name}`);
    pods.retryWhere(() => true);
    clock.advance(ms(600_000));
    expect(order()).toEqual([]);
    expect(clock.waiting).toBe(0);
  });
});

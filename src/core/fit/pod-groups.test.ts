import { expect, it } from "vitest";
import type { PodSummary } from "../demand/index.ts";
import { podRequests } from "../demand/index.ts";
import { instant } from "../units/index.ts";
import { pendingGroups } from "./pod-groups.ts";

const requests = podRequests(new Map([["cpu", 1]]));

const pendingPod = (createdAt: number | undefined): PodSummary => ({
  node: undefined,
  active: true,
  constraint: "general",
  workloadClass: "standard",
  performanceSensitive: false,
  demand: { cpuCores: 1, gpus: new Map() },
  requests,
  ...(createdAt !== undefined && { createdAt: instant(createdAt) }),
});

it("a group is as old as its oldest pod, in any order of pods", () => {
  const pods = [pendingPod(undefined), pendingPod(2000), pendingPod(1000), pendingPod(3000)];
  for (const order of [pods, pods.toReversed()]) {
    const [group] = pendingGroups(order, () => true);
    expect(group).toMatchObject({ count: 4, oldest: 1000 });
  }
});

it("only pending pods with requests that the caller counts form groups", () => {
  const { requests: _, ...withoutRequests } = pendingPod(1000);
  const counted = pendingPod(1000);
  const uncounted = pendingPod(2000);
  const pods = [{ ...counted, node: "n1" }, { ...counted, active: false }, withoutRequests, uncounted, counted];
  const groups = pendingGroups(pods, (pod) => pod !== uncounted);
  expect(groups.flatMap(({ pods: members }) => members)).toEqual([counted]);
});

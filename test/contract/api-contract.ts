import { afterAll, beforeAll, describe } from "vitest";
import type { Transport } from "../../src/platform/kube/index.ts";
import { applyContract } from "./apply-contract.ts";
import { Hand } from "./hand.ts";
import { kubernetesContract } from "./kubernetes-contract.ts";
import { listContract } from "./list-contract.ts";
import { objectContract } from "./object-contract.ts";
import { refusalContract } from "./refusal-contract.ts";
import { removalContract } from "./removal-contract.ts";
import { watchContract } from "./watch-contract.ts";

/** A control plane with Joulie's CRDs and garbage collection, and a client with administrator rights. */
export interface Started {
  readonly transport: Transport;
  readonly stop: () => Promise<void>;
}

const contracts: Readonly<Record<string, (hand: () => Hand) => void>> = {
  objects: objectContract,
  refusals: refusalContract,
  "server-side apply": applyContract,
  lists: listContract,
  watches: watchContract,
  removal: removalContract,
  "nodes, pods, leases, events": kubernetesContract,
};

/** The API server behaviour that our programs rely on. Every case runs on the embedded server and on a real one. */
export function apiContract(name: string, start: () => Promise<Started>): void {
  describe(`the contract of an API server: ${name}`, () => {
    let started: Started | undefined;
    let hand: Hand | undefined;
    beforeAll(async () => {
      started = await start();
      hand = new Hand(started.transport);
    });
    afterAll(async () => {
      await started?.transport.close();
      await started?.stop();
    });
    const use = (): Hand => {
      if (hand === undefined) throw new Error("the control plane has not started");
      return hand;
    };
    describe.each(Object.entries(contracts))("%s", (_subject, contract) => {
      contract(use);
    });
  });
}

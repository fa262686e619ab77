import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Has V8 collect new objects on one thread. With a nursery of a megabyte that takes a third of a millisecond; to wake helpers and to wait for
 * them takes as long on a quiet machine, and many times that where kube-scheduler wants the same cores.
 */
export function collectAlone(): void {
  setFlagsFromString("--no-parallel-scavenge");
}

type Collect = (options: { readonly type: "minor"; readonly execution: "sync" }) => void;

/**
 * Collects what was made last, in less than a millisecond. Node makes a buffer for each piece it reads from a socket; 30 MB of them are
 * small objects to V8, which sees no reason to collect them before several bodies of them lie around.
 */
export function nurseryCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  setFlagsFromString("--no-expose-gc");
  return () => collect({ type: "minor", execution: "sync" });
}

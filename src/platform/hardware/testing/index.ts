/** Fixtures to build a host in the tests of other rooms. Production code must not import this. */

export * from "./cpufreq-trees.ts";
export * from "./cpuinfo-trees.ts";
export { FakeHost, type HostTree, joinTrees } from "./fake-host.ts";
export * from "./fake-kernel.ts";
export * from "./hasty-clock.ts";
export * from "./hsmp-trees.ts";
export * from "./powercap-trees.ts";

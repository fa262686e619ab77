/** How a container starts a program: `MALLOC_ARENA_MAX=1 node <node options> dist/joulie.mjs agent`. */
export interface StartOptions {
  /** On the command line: NODE_OPTIONS refuses --no-parallel-scavenge and --wasm-tiering-budget. */
  readonly node: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Each thread of the C library keeps a heap of its own; one is enough, and its peak is kept once. */
const oneMallocArena = { MALLOC_ARENA_MAX: "1" } as const;

/** What the benches measured. Without these options every program works the same and takes more memory. */
export const startOptions = {
  /** `npm run bench -- operator`; see docs/guides/operator.md for larger clusters. */
  operator: { node: ["--max-semi-space-size=8", "--max-old-space-size=256"], environment: {} },
  /**
   * `npm run bench -- agent`. undici parses responses with WebAssembly. After some hundred responses V8's optimizing compiler
   * recompiles it, which takes 23 MiB and fragments the C heap. An agent of one node reads a few responses per minute, so it
   * keeps the baseline code.
   */
  agent: { node: ["--max-semi-space-size=1", "--wasm-tiering-budget=2000000000"], environment: oneMallocArena },
  /** `npm run bench -- agent`. A pool reads thousands of responses per minute: the optimized code is worth its memory. */
  agentPool: { node: ["--max-semi-space-size=1"], environment: oneMallocArena },
  /**
   * `npm run bench -- extender`. With a semi-space of 1 MiB a minor collection takes a third of a millisecond. Waking helper
   * threads takes as long on an idle machine, and many times that where kube-scheduler needs the same cores.
   * --expose-gc lets the extender collect the chunks of large bodies, see `BodyBuffers`.
   */
  extender: {
    node: ["--max-semi-space-size=1", "--no-parallel-scavenge", "--expose-gc"],
    environment: oneMallocArena,
  },
  /** Not measured: it works on a few nodes at a time. */
  power: { node: ["--max-semi-space-size=1"], environment: oneMallocArena },
  /** Not measured: it holds all nodes and pods, like the operator. */
  dashboard: { node: ["--max-semi-space-size=8", "--max-old-space-size=256"], environment: {} },
} as const satisfies Readonly<Record<string, StartOptions>>;

export const startCommand = (program: string, { node, environment }: StartOptions): string =>
  [
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    "node",
    ...node,
    "dist/joulie.mjs",
    program,
  ].join(" ");

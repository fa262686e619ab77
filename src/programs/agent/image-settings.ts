/**
 * The environment that an image gives the agent, as docs/guides/agent.md asks for and as bench/agent.ts measures it: an agent has
 * little that lives and makes little garbage. By its own choice Node gives it a nursery of many times that, and the C library a
 * heap to each of its threads. Both are settled before the first line of ours runs.
 */
export const imageSettings = {
  NODE_OPTIONS: "--max-semi-space-size=1",
  MALLOC_ARENA_MAX: "1",
} as const;

export { type Backoff, backoffDelay } from "./backoff.ts";
export { pollUntil } from "./poll.ts";

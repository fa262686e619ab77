export { type Backoff, backoffDelay } from "./backoff.ts";

export { type Backoff, backoffDelay, pollUntil } from "./backoff.ts";

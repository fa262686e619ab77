import { type Instant, milliseconds } from "../units/index.ts";

/** The allowed clock skew between two machines. A time further ahead means that one of the clocks was set. */
const allowedSkew = milliseconds(60_000);

export const isBeyondClockSkew = (at: Instant, now: Instant): boolean => at - now > allowedSkew;

import { type Instant, milliseconds } from "../units/index.ts";

/** How far the clocks of two machines may differ. A time further ahead than this is no skew: one of them was set anew. */
const allowedSkew = milliseconds(60_000);

export const isBeyondClockSkew = (at: Instant, now: Instant): boolean => at - now > allowedSkew;

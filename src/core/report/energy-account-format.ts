import * as z from "zod";
import type { EnergyTotals, StoredEnergyAccount } from "./energy-account.ts";
import type { StoredEnergyHistory } from "./energy-history.ts";
import { type EnergyFactors, SAVINGS_METHOD } from "./savings.ts";

/** What the dashboard answers on `/api/energy-account` and `joulie savings` reads: joules, and times in milliseconds since 1970. */
export interface EnergyAccountAnswer {
  readonly version: 2;
  readonly method: string;
  readonly totals: EnergyTotals;
  /** Those of the dashboard; a reader may have its own. */
  readonly factors: EnergyFactors;
}

export const energyAccountAnswer = (totals: EnergyTotals, factors: EnergyFactors): EnergyAccountAnswer => ({
  version: 2,
  method: SAVINGS_METHOD,
  totals,
  factors,
});

const interval = z.object({ estimate: z.number(), low: z.number(), high: z.number() });
const optionalNumber = z.number().optional();
const answer = z.object({
  version: z.literal(2),
  method: z.string(),
  totals: z.object({
    from: optionalNumber,
    to: optionalNumber,
    used: z.number(),
    modelled: optionalNumber,
    byClass: z.object({ performance: z.number(), standard: z.number(), idle: z.number() }),
    byNode: z.array(z.object({ node: z.string(), used: z.number(), notUsed: interval })),
    notUsed: interval,
    byCause: z.object({ caps: z.number(), sleep: z.number() }),
    coverage: optionalNumber,
  }),
  factors: z.object({
    pricePerKilowattHour: optionalNumber,
    currency: z.string().optional(),
    gramsCo2PerKilowattHour: optionalNumber,
    pue: optionalNumber,
  }),
});

/** Undefined if the value is no such answer: a dashboard of another version, or another program. */
export function readEnergyAccountAnswer(value: unknown): EnergyAccountAnswer | undefined {
  const { data } = answer.safeParse(value);
  return data as EnergyAccountAnswer | undefined;
}

const stored = z.object({
  version: z.literal(2),
  from: z.number(),
  to: z.number(),
  covered: z.number().min(0),
  time: z.number().min(0),
  nodes: z.record(z.string(), z.array(z.number())),
});

const storedHistory = z.object({ version: z.literal(2), hours: z.array(stored) });

/** Undefined if the value is no history of this version: the history then begins now. */
export function readStoredHistory(value: unknown): StoredEnergyHistory | undefined {
  return storedHistory.safeParse(value).data;
}

/** Undefined if the value is no account of this version: the account then begins now. */
export function readStoredAccount(value: unknown): StoredEnergyAccount | undefined {
  return stored.safeParse(value).data;
}

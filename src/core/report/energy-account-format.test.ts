import { describe, expect, it } from "vitest";
import { instant, watts } from "../units/index.ts";
import { EnergyAccount } from "./energy-account.ts";
import {
  energyAccountAnswer,
  readEnergyAccountAnswer,
  readStoredAccount,
  readStoredHistory,
} from "./energy-account-format.ts";

const account = new EnergyAccount();
for (const at of [0, 100_000])
  account.add({
    at: instant(at),
    nodes: [
      {
        node: "a",
        drawn: watts(300),
        modelled: watts(0),
        idle: watts(100),
        shares: { performance: 1, standard: 0 },
        savedByCaps: { estimate: watts(20), low: watts(-5), high: watts(60) },
        savedInChips: watts(20),
        asleep: false,
      },
    ],
  });
const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("the formats of an energy account", () => {
  it("SAV-02 an answer arrives as it was sent, also before the first reading", () => {
    const sent = energyAccountAnswer(account.totals, { pricePerKilowattHour: 0.3, currency: "EUR", pue: 1.2 });
    expect(readEnergyAccountAnswer(throughJson(sent))).toEqual(sent);
    const empty = energyAccountAnswer(new EnergyAccount().totals, {});
    expect(readEnergyAccountAnswer(throughJson(empty))?.totals).toMatchObject({ used: 0, byNode: [] });
  });

  it("SAV-02 a stored account arrives as it was saved", () => {
    expect(readStoredAccount(throughJson(account.stored))).toEqual(account.stored);
  });

  it("SAV-06 stored hours arrive as they were saved; what is none is rejected", () => {
    const hours = { version: 2, hours: [account.stored] };
    expect(readStoredHistory(throughJson(hours))).toEqual(hours);
    for (const value of [undefined, {}, { ...hours, version: 1 }, { version: 1, hours: [{}] }])
      expect(readStoredHistory(value)).toBeUndefined();
  });

  it("rejects what is no account", () => {
    const sent = throughJson(energyAccountAnswer(account.totals, {})) as Record<string, unknown>;
    for (const value of [undefined, [], {}, { ...sent, version: 1 }, { ...sent, totals: {} }, "text"])
      expect(readEnergyAccountAnswer(value)).toBeUndefined();
    const saved = throughJson(account.stored) as Record<string, unknown>;
    for (const value of [
      undefined,
      [],
      { ...saved, version: 1 },
      { ...saved, time: null },
      { ...saved, nodes: { a: 1 } },
    ])
      expect(readStoredAccount(value)).toBeUndefined();
  });
});

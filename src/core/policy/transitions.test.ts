import { describe, expect, it } from "vitest";
import { publishedStateOf } from "./transitions.ts";

describe("published state", () => {
  it("a performance node publishes performance everywhere", () => {
    expect(publishedStateOf({ state: "ActivePerformance", caps: "performance" })).toEqual({
      profile: "performance",
      draining: false,
      schedulableClass: "performance",
    });
  });

  it("OPR-16 a draining node publishes eco and draining at once", () => {
    expect(publishedStateOf({ state: "DrainingPerformance", caps: "performance" })).toEqual({
      profile: "eco",
      draining: true,
      schedulableClass: "draining",
    });
  });

  it("an eco node publishes eco without draining", () => {
    expect(publishedStateOf({ state: "ActiveEco", caps: "eco" })).toEqual({
      profile: "eco",
      draining: false,
      schedulableClass: "eco",
    });
  });
});

import { describe, expect, it } from "vitest";
import { buildCatalogue, builtinCatalogue } from "./catalogue.ts";

const cpu = { key: "site-cpu", vendor: "Hygon", coresPerSocket: 32, tdpWatts: 200, baseGHz: 2.5 };
const gpu = { key: "site-gpu", vendor: "amd", maxWatts: 500, perf: 400 };

describe("the catalogue without additions", () => {
  it.each([undefined, null, {}, { cpus: [], gpus: [] }, { cpus: null }])("is the embedded one for %j", (additions) => {
    const { catalogue, problems } = buildCatalogue(additions);
    expect(problems).toEqual([]);
    expect(catalogue.cpus).toEqual(builtinCatalogue.cpus);
    expect(catalogue.gpus).toEqual(builtinCatalogue.gpus);
  });
});

describe("look-ups", () => {
  it("are cached up to a limit, except for very long names", () => {
    const { catalogue } = buildCatalogue();
    const first = catalogue.cpu("AMD EPYC 9654");
    expect(catalogue.cpu("AMD EPYC 9654")).toBe(first);
    expect(catalogue.gpu("H100")).toBe(catalogue.gpu("H100"));
    for (const length of [256, 257]) {
      const name = "x".repeat(length);
      expect(catalogue.cpu(name) === catalogue.cpu(name)).toBe(length === 256);
    }
    for (let at = 0; at < 1022; at++) catalogue.cpu(`board ${at}`);
    expect(catalogue.cpu("AMD EPYC 9654")).toBe(first);
    catalogue.cpu("one more");
    expect(catalogue.cpu("AMD EPYC 9654")).not.toBe(first);
    expect(catalogue.cpu("AMD EPYC 9654")).toEqual(first);
  });
});

describe("additions", () => {
  it("finds a new model by its key and aliases, and its values carry their provenance", () => {
    const { catalogue, problems } = buildCatalogue({
      cpus: [
        {
          ...cpu,
          aliases: ["Hygon C86 7390"],
          provenance: "measured",
          source: "our rack 7",
          curve: [
            [0, 0.3],
            [1, 1],
          ],
        },
      ],
      gpus: [{ ...gpu, aliases: ["Our Board"], minWatts: 100, defaultWatts: 450, idleWatts: 40 }],
    });
    expect(problems).toEqual([]);
    const found = catalogue.cpu("Hygon(R) C86 7390 32-Core Processor");
    expect(found).toMatchObject({ match: "exact", key: "site-cpu" });
    expect(found.entry).toMatchObject({
      vendor: "hygon",
      family: "site-cpu",
      threadsPerCore: 1,
      tdpWatts: 200,
      provenance: "measured",
      source: "our rack 7",
      curve: [
        [0, 0.3],
        [1, 1],
      ],
    });
    expect(found.entry).not.toHaveProperty("maxWatts");
    expect(catalogue.gpu("our-board").entry).toMatchObject({
      minWatts: 100,
      defaultWatts: 450,
      maxWatts: 500,
      idleWatts: 40,
      perf: 400,
    });
  });

  it("reads the example of the hardware guide", () => {
    const { catalogue, problems } = buildCatalogue({
      cpus: [{ key: "our-cpu", aliases: ["Our CPU 9000"], coresPerSocket: 64, baseGHz: 2.4, tdpWatts: 300 }],
      gpus: [{ key: "nvidia-h100-pcie", maxWatts: 310 }],
    });
    expect(problems).toEqual([]);
    expect(catalogue.cpu("Our CPU 9000").key).toBe("our-cpu");
    expect(catalogue.gpu("H100 PCIe").entry).toMatchObject({ maxWatts: 310, defaultWatts: 310, perf: 756 });
  });

  it("trims text and accepts every provenance", () => {
    const { catalogue, problems } = buildCatalogue({
      cpus: [
        {
          ...cpu,
          vendor: " Hygon ",
          family: " C86 ",
          aliases: [" C86 7390 "],
          provenance: "vendor",
          threadsPerCore: 2,
        },
        { key: "plain", coresPerSocket: 4, tdpWatts: 50, baseGHz: 2, provenance: "assumed" },
        { key: "intel-xeon-gold-6430", tdpWatts: 250 },
        {
          ...cpu,
          key: "curved",
          curve: [
            [0, 0.3],
            [0.5, 0.6],
            [1, 1],
          ],
        },
      ],
    });
    expect(problems).toEqual([]);
    expect(catalogue.cpu("site-cpu").entry).toMatchObject({
      vendor: "hygon",
      family: "C86",
      aliases: ["C86 7390"],
      threadsPerCore: 2,
      provenance: "vendor",
    });
    expect(catalogue.cpu("plain").entry).toMatchObject({ vendor: "unknown", family: "plain", aliases: [] });
    expect(catalogue.cpu("intel-xeon-gold-6430").entry).toMatchObject({ family: "Xeon Sapphire Rapids" });
    expect(catalogue.cpu("intel-xeon-gold-6430").entry).not.toHaveProperty("maxWatts");
    expect(catalogue.cpu("curved").entry?.curve).toHaveLength(3);
  });

  it("derives the missing fields of a new GPU from its maximum", () => {
    const { entry } = buildCatalogue({ gpus: [gpu] }).catalogue.gpu("site-gpu");
    expect(entry).toMatchObject({ minWatts: 0, defaultWatts: 500, idleWatts: 60 });
    expect(entry).not.toHaveProperty("devicesPerBoard");
  });

  it("an addition under an existing key overrides the fields it sets and keeps the others", () => {
    const { catalogue, problems } = buildCatalogue({
      cpus: [
        { key: "amd-epyc-9654", tdpWatts: 400, vendor: "amd", family: "EPYC 9004", threadsPerCore: 1 },
        { key: "amd-epyc-9554", coresPerSocket: 60, baseGHz: 3, boostGHz: 3.5, minWatts: 300, maxWatts: 380 },
      ],
      gpus: [{ key: "nvidia-h100-sxm", maxWatts: 650, defaultWatts: 600, aliases: ["H100 Custom"] }],
    });
    const before = builtinCatalogue.cpu("EPYC 9654").entry;
    expect(problems).toEqual([]);
    expect(catalogue.cpu("EPYC 9654P").entry).toEqual({
      ...before,
      threadsPerCore: 1,
      tdpWatts: 400,
    });
    expect(catalogue.cpu("EPYC 9554").entry).toMatchObject({
      coresPerSocket: 60,
      baseGHz: 3,
      boostGHz: 3.5,
      minWatts: 300,
      maxWatts: 380,
      tdpWatts: 360,
    });
    expect(catalogue.gpu("NVIDIA-H100-80GB-HBM3").entry).toMatchObject({
      maxWatts: 650,
      perf: 989,
    });
    expect(catalogue.gpu("H100 Custom").key).toBe("nvidia-h100-sxm");
    expect(catalogue.cpus).toHaveLength(builtinCatalogue.cpus.length);
  });

  it("adjusts inherited fields that conflict with the fields the addition sets", () => {
    const lower = buildCatalogue({
      gpus: [
        { key: "nvidia-h100-sxm", maxWatts: 500 },
        { key: "nvidia-l40s", maxWatts: 30 },
        { key: "nvidia-l40", defaultWatts: 80 },
        { key: "amd-mi250x", minWatts: 520 },
      ],
    });
    expect(lower.problems).toEqual([]);
    const limits = (name: string) => {
      const { minWatts, defaultWatts, maxWatts, idleWatts } = lower.catalogue.gpu(name).entry ?? {};
      return [minWatts, defaultWatts, maxWatts, idleWatts];
    };
    expect(limits("nvidia-h100-sxm")).toEqual([200, 500, 500, 79]);
    expect(limits("nvidia-l40s")).toEqual([30, 30, 30, 30]);
    expect(limits("nvidia-l40")).toEqual([80, 80, 300, 34]);
    expect(limits("amd-mi250x")).toEqual([520, 520, 560, 90]);
    const h100 = lower.catalogue.gpu("nvidia-h100-sxm").entry;
    expect(h100?.minWatts).toBe(builtinCatalogue.gpu("nvidia-h100-sxm").entry?.minWatts);
  });

  it("keeps the devices per board of an existing GPU unless the addition sets them", () => {
    const { catalogue, problems } = buildCatalogue({
      gpus: [
        { key: "amd-mi250x", maxWatts: 550 },
        { key: "nvidia-a30", maxWatts: 160 },
        { key: "amd-mi300x", maxWatts: 700 },
        { ...gpu, devicesPerBoard: 4 },
        { key: "amd-mi250", devicesPerBoard: 1 },
      ],
    });
    expect(problems).toEqual([]);
    expect(catalogue.gpu("MI250X").entry?.devicesPerBoard).toBe(2);
    expect(catalogue.gpu("A30").entry?.memoryGB).toBe(24);
    expect(catalogue.gpu("MI300X").entry?.maxPartitions).toBe(8);
    expect(catalogue.gpu("site-gpu").entry?.devicesPerBoard).toBe(4);
    expect(catalogue.gpu("MI250").entry?.devicesPerBoard).toBe(1);
    expect(buildCatalogue({ gpus: [{ ...gpu, devicesPerBoard: 0 }] }).problems).toHaveLength(1);
  });

  it("keeps inherited fields that do not conflict with the addition", () => {
    const { catalogue } = buildCatalogue({ gpus: [{ key: "nvidia-h100-sxm", minWatts: 700, maxWatts: 700 }] });
    const [entry, before] = [catalogue, builtinCatalogue].map((of) => of.gpu("nvidia-h100-sxm").entry);
    expect(entry?.defaultWatts).toBe(before?.defaultWatts);
  });

  it("never changes given values to make them consistent", () => {
    const { problems } = buildCatalogue({
      gpus: [
        { key: "nvidia-h100-sxm", minWatts: 750 },
        { key: "nvidia-l4", idleWatts: 73 },
      ],
      cpus: [
        { key: "amd-epyc-9654", minWatts: 450 },
        { key: "amd-epyc-9554", boostGHz: 2 },
      ],
    });
    expect(problems).toEqual([
      "cpus[0] (amd-epyc-9654): maxWatts: is below minWatts",
      "cpus[1] (amd-epyc-9554): boostGHz: is below baseGHz",
      "gpus[0] (nvidia-h100-sxm): maxWatts: is below minWatts",
      "gpus[1] (nvidia-l4): idleWatts: is above maxWatts",
    ]);
  });

  it("suggests the existing key for an alias used as key", () => {
    const { catalogue, problems } = buildCatalogue({
      gpus: [
        { key: "NVIDIA-H100-SXM", maxWatts: 500 },
        { ...gpu, key: "L4 24GB" },
        { key: " nvidia-l40 ", maxWatts: 250 },
      ],
      cpus: [{ key: "EPYC 9654", tdpWatts: 1 }],
    });
    expect(problems).toEqual([
      'cpus[0] (EPYC 9654): key: is a name of "amd-epyc-9654"; did you mean that?',
      'gpus[0] (NVIDIA-H100-SXM): key: is a name of "nvidia-h100-sxm"; did you mean that?',
      'gpus[1] (L4 24GB): key: is a name of "nvidia-l4"; did you mean that?',
    ]);
    expect(catalogue.gpu("L40").entry?.maxWatts).toBe(250);
    expect(catalogue.gpu("nvidia-h100-sxm").entry?.maxWatts).toBe(700);
  });

  it("accepts a model under a name that so far had only a proxy", () => {
    const { catalogue, problems } = buildCatalogue({ gpus: [{ key: "nvidia-h100-pcie", aliases: ["H100"] }] });
    expect(problems).toEqual([]);
    expect(catalogue.gpu("NVIDIA H100")).toMatchObject({ match: "exact", key: "nvidia-h100-pcie" });
  });
});

describe("an invalid entry is rejected by name without affecting others", () => {
  it.each([
    ["a negative figure", { ...cpu, tdpWatts: -5 }, /^cpus\[0\] \(site-cpu\): tdpWatts: /],
    ["milliwatts", { ...cpu, tdpWatts: 400_000 }, /^cpus\[0\] \(site-cpu\): tdpWatts: /],
    ["megahertz", { ...cpu, baseGHz: 2400 }, /^cpus\[0\] \(site-cpu\): baseGHz: /],
    ["a fraction of a core", { ...cpu, coresPerSocket: 1.5 }, /^cpus\[0\] \(site-cpu\): coresPerSocket: /],
    ["not a number", { ...cpu, tdpWatts: Number.NaN }, /^cpus\[0\] \(site-cpu\): tdpWatts: /],
    ["a misspelt field", { ...cpu, tdp: 5 }, /^cpus\[0\] \(site-cpu\): Unrecognized key: "tdp"$/],
    [
      "a share of power above one",
      {
        ...cpu,
        curve: [
          [0, 0.1],
          [1, 2],
        ],
      },
      /^cpus\[0\] \(site-cpu\): curve\.1\.1: /,
    ],
    ["no key", { vendor: "amd" }, /^cpus\[0\]: key: /],
    ["a key that is no text", { ...cpu, key: 7 }, /^cpus\[0\]: key: /],
    ["not an object", "EPYC", /^cpus\[0\]: /],
    ["null", null, /^cpus\[0\]: /],
    [
      "no cores",
      { key: "site-cpu", tdpWatts: 5, baseGHz: 2 },
      /^cpus\[0\] \(site-cpu\): coresPerSocket: required for a new entry$/,
    ],
    [
      "no TDP",
      { key: "site-cpu", coresPerSocket: 5, baseGHz: 2 },
      /^cpus\[0\] \(site-cpu\): tdpWatts: required for a new entry$/,
    ],
    [
      "no clock",
      { key: "site-cpu", coresPerSocket: 5, tdpWatts: 2 },
      /^cpus\[0\] \(site-cpu\): baseGHz: required for a new entry$/,
    ],
    ["boost below base", { ...cpu, boostGHz: 1 }, /boostGHz: is below baseGHz$/],
    ["half a range", { ...cpu, minWatts: 100 }, /minWatts, maxWatts: set both or neither$/],
    ["a reversed range", { ...cpu, minWatts: 200, maxWatts: 100 }, /maxWatts: is below minWatts$/],
    [
      "a curve that turns back",
      {
        ...cpu,
        curve: [
          [0, 0.1],
          [0.5, 0.2],
          [0.5, 0.3],
        ],
      },
      /curve: load must be ascending$/,
    ],
    [
      "the name of another entry",
      { ...cpu, aliases: ["EPYC 9654"] },
      /aliases: "EPYC 9654" already means amd-epyc-9654$/,
    ],
    [
      "a name that says nothing",
      { ...cpu, aliases: ["Intel(R) Xeon(R)"] },
      /aliases: ".*" says nothing that tells models apart$/,
    ],
  ])("CPU with %s", (_, entry, problem) => {
    const { catalogue, problems } = buildCatalogue({ cpus: [entry, { ...cpu, key: "good-cpu" }], gpus: [gpu] });
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(catalogue.cpu("site-cpu").match).toBe("generic");
    expect(catalogue.cpu("good-cpu").match).toBe("exact");
    expect(catalogue.gpu("site-gpu").match).toBe("exact");
    expect(catalogue.cpu("EPYC 9654").key).toBe("amd-epyc-9654");
  });

  it.each([
    ["no throughput", { ...gpu, perf: undefined }, /^gpus\[0\] \(site-gpu\): perf: required for a new entry$/],
    ["no maximum", { ...gpu, maxWatts: undefined }, /^gpus\[0\] \(site-gpu\): maxWatts: required for a new entry$/],
    ["no vendor", { ...gpu, vendor: undefined }, /^gpus\[0\] \(site-gpu\): vendor: required for a new entry$/],
    ["an unknown vendor", { ...gpu, vendor: "matrox" }, /^gpus\[0\] \(site-gpu\): vendor: /],
    ["zero throughput", { ...gpu, perf: 0 }, /^gpus\[0\] \(site-gpu\): perf: /],
    ["infinite watts", { ...gpu, maxWatts: Infinity }, /^gpus\[0\] \(site-gpu\): maxWatts: /],
    ["a default below the minimum", { ...gpu, minWatts: 300, defaultWatts: 200 }, /defaultWatts: is below minWatts$/],
    [
      "a default below a minimum that is all",
      { ...gpu, minWatts: 500, defaultWatts: 400 },
      /defaultWatts: is below minWatts$/,
    ],
    [
      "a default above a minimum that is all",
      { ...gpu, minWatts: 500, defaultWatts: 600 },
      /maxWatts: is below defaultWatts$/,
    ],
    ["a minimum above all", { ...gpu, minWatts: 600, defaultWatts: 550 }, /maxWatts: is below minWatts$/],
    ["a default above the maximum", { ...gpu, defaultWatts: 600 }, /maxWatts: is below defaultWatts$/],
    ["idle above the maximum", { ...gpu, idleWatts: 501 }, /idleWatts: is above maxWatts$/],
    ["the name of another entry", { ...gpu, aliases: ["L4"] }, /aliases: "L4" already means nvidia-l4$/],
  ])("GPU with %s", (_, entry, problem) => {
    const { catalogue, problems } = buildCatalogue({ gpus: [entry, { ...gpu, key: "good-gpu" }] });
    expect(problems).toEqual([expect.stringMatching(problem)]);
    expect(catalogue.gpu("site-gpu").match).toBe("generic");
    expect(catalogue.gpu("good-gpu").match).toBe("exact");
  });

  it("each missing field is named", () => {
    expect(buildCatalogue({ cpus: [{ key: "x1" }], gpus: [{ key: "x2" }] }).problems).toEqual([
      "cpus[0] (x1): coresPerSocket: required for a new entry",
      "cpus[0] (x1): tdpWatts: required for a new entry",
      "cpus[0] (x1): baseGHz: required for a new entry",
      "gpus[0] (x2): vendor: required for a new entry",
      "gpus[0] (x2): maxWatts: required for a new entry",
      "gpus[0] (x2): perf: required for a new entry",
    ]);
  });

  it("uses the first of two entries with the same key", () => {
    const { catalogue, problems } = buildCatalogue({ gpus: [gpu, { ...gpu, maxWatts: 999 }] });
    expect(problems).toEqual(["gpus[1] (site-gpu): key: duplicate; the first entry is used"]);
    expect(catalogue.gpu("site-gpu").entry?.maxWatts).toBe(500);
  });

  it("a rejected entry does not reserve its names", () => {
    const { catalogue, problems } = buildCatalogue({
      gpus: [
        { ...gpu, key: "greedy", aliases: ["Our Board", "L4"] },
        { ...gpu, aliases: ["Our Board"] },
        { ...gpu, key: "late", aliases: ["our-board"] },
      ],
    });
    expect(problems).toEqual([
      'gpus[0] (greedy): aliases: "L4" already means nvidia-l4',
      'gpus[2] (late): aliases: "our-board" already means site-gpu',
    ]);
    expect(catalogue.gpu("Our Board").key).toBe("site-gpu");
  });

  it("reports a file of the wrong structure", () => {
    expect(buildCatalogue([]).problems).toEqual(["the catalogue must be an object with the lists cpus and gpus"]);
    expect(buildCatalogue("x").problems).toHaveLength(1);
    expect(buildCatalogue({ cpu: [], gpus: {} }).problems).toEqual([
      "cpu: unknown section; expected cpus or gpus",
      "gpus: must be a list of entries",
    ]);
  });
});

// The layer rules: imports point down only. docs/design/0002-three-floors.md explains them.
// `npm run check` runs them; scripts/rules/layers.test.ts proves that each one detects a violation.

/** Core's rooms, lowest first. A room may use those on lower lines only; the top one has none above it to look up to. @type {string[][]} */
export const coreRooms = [
  ["units", "presets"],
  ["history"],
  ["api"],
  ["inventory"],
  ["power"],
  ["demand"],
  ["fit"],
  ["policy", "sleep", "twin", "control"],
  ["planning", "scoring"],
  ["physics"],
  ["report"],
];

const TEST = "\\.test\\.ts$";
const here = (/** @type {string[]} */ rooms) => `^src/core/(${rooms.join("|")})/`;

/** @type {import("dependency-cruiser").IForbiddenRuleType[]} */
const roomRules = coreRooms.slice(0, -1).flatMap((level, index) =>
  level.map((room) => ({
    name: `core-${room}-looks-down`,
    comment: `core/${room} may use only the rooms below it`,
    severity: "error",
    from: { path: here([room]) },
    to: {
      path: here(
        coreRooms
          .slice(index)
          .flat()
          .filter((other) => other !== room),
      ),
    },
  })),
);

/** @type {import("dependency-cruiser").IForbiddenRuleType[]} */
const forbidden = [
  {
    name: "core-stands-on-itself",
    comment: "core uses core and zod alone: no Node, no other package, no other floor, no other file",
    severity: "error",
    from: { path: "^src/core/", pathNot: TEST },
    to: { pathNot: ["^src/core/", "node_modules/zod/"] },
  },
  {
    name: "core-tests-stand-on-core",
    comment: "core's tests use core and test tools",
    severity: "error",
    from: { path: `^src/core/.*${TEST}` },
    to: { pathNot: ["^src/core/", "node_modules/(zod|vitest|fast-check)/"] },
  },
  {
    name: "platform-is-the-first-floor",
    comment: "platform knows core, not programs",
    severity: "error",
    from: { path: "^src/platform/" },
    to: { path: "^src/(programs|main)" },
  },
  ...roomRules,
  {
    name: "through-the-index",
    comment: "a room is entered through its index.ts",
    severity: "error",
    from: { path: "^src/([^/]+/[^/]+)/" },
    to: { path: "^src/[^/]+/[^/]+/", pathNot: ["^src/$1/", "/index\\.ts$"] },
  },
  {
    name: "src-stands-alone",
    comment: "the product uses no test, bench or script",
    severity: "error",
    from: { path: "^src/" },
    to: { path: "^(test|bench|scripts|web)/" },
  },
  {
    name: "the-page-knows-the-wire-alone",
    comment: "the dashboard's page uses its own files, its packages, and what the server sends",
    severity: "error",
    from: { path: "^web/" },
    to: {
      pathNot: [
        "^web/",
        "^src/programs/dashboard/wire\\.ts$",
        "node_modules/(preact|@preact/signals|@preact/signals-core|uplot)/",
      ],
    },
  },
  {
    name: "testing-folders-are-for-tests",
    comment: "only tests and other testing folders import from a testing folder",
    severity: "error",
    from: { path: "^src/", pathNot: [TEST, "/testing/"] },
    to: { path: "^src/.*/testing/" },
  },
  {
    name: "no-development-dependency",
    comment: "the product uses no development dependency",
    severity: "error",
    from: { path: "^src/", pathNot: TEST },
    to: { dependencyTypes: ["npm-dev"], pathNot: "node_modules/@types/" },
  },
  { name: "no-cycle", comment: "no file depends on itself", severity: "error", from: {}, to: { circular: true } },
  {
    name: "resolvable",
    comment: "every import leads somewhere",
    severity: "error",
    from: {},
    to: { couldNotResolve: true },
  },
];

/** @type {import("dependency-cruiser").ICruiseOptions} */
const options = {
  doNotFollow: { path: "node_modules" },
  tsPreCompilationDeps: true,
  tsConfig: { fileName: "tsconfig.json" },
  enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "types", "default"] },
};

export default { forbidden, options };

import { stringify } from "yaml";
import { crdOf, kinds } from "../src/core/api/index.ts";
import { type Program, programs } from "../src/programs/index.ts";
import { chartFiles } from "./chart/files.ts";
import { grafanaDashboard } from "./grafana.ts";
import { configurationReference } from "./reference/configuration.ts";
import { crdReference } from "./reference/crds.ts";
import { metricsReference } from "./reference/metrics.ts";
import { permissionsReference } from "./reference/permissions.ts";

/** Contents of all generated files, by path in the repository. */
export async function generatedFiles(): Promise<Map<string, string>> {
  const documented = await Promise.all(
    programs.flatMap(withActions).map(async (program) => ({
      ...program,
      config: await program.config(),
      metrics: Object.values((await program.metrics?.()) ?? {}),
    })),
  );
  return new Map([
    ...kinds.map((kind): [string, string] => [`charts/joulie/crds/${kind.plural}.yaml`, yaml(crdOf(kind))]),
    ["docs/reference/crds.md", wrapped(crdReference(kinds))],
    ["docs/reference/configuration.md", wrapped(configurationReference(documented))],
    ["docs/reference/metrics.md", wrapped(metricsReference(documented.filter(({ metrics }) => metrics.length > 0)))],
    ["charts/joulie/files/grafana.json", grafanaDashboard(documented.flatMap(({ metrics }) => metrics))],
    ["docs/reference/permissions.md", wrapped(permissionsReference())],
    ...(await chartFiles()),
  ]);
}

/** `joulie agent probe` follows `joulie agent`. */
const withActions = (program: Program): readonly Program[] => [
  program,
  ...(program.actions ?? []).map((action) => ({ ...action, name: `${program.name} ${action.name}` })),
];

/** For readers of YAML 1.1, such as kubectl and Helm: without quotes `on` and `off` are booleans there. */
const yaml = (document: object) => {
  const text = stringify(document, { lineWidth: 0, version: "1.1" });
  return `# Written by \`npm run generate\` from src/core/api. Change it there.\n${text}`;
};

const MAX_LINE_LENGTH = 120;

/** Breaks the long lines of a Markdown page at spaces outside `code`. Table rows and headings stay on one line. */
const wrapped = (page: string): string =>
  page
    .split("\n")
    .flatMap((line) => (/^[|#]/.test(line) ? line : wrappedLine(line)))
    .join("\n");

function wrappedLine(line: string): string[] {
  const words = line.match(/(?:`[^`]*`|[^ `])+/g) ?? [];
  const lines: string[] = [];
  for (const word of words) {
    const longer = `${lines.at(-1) ?? ""} ${word}`;
    if (lines.length > 0 && longer.length <= MAX_LINE_LENGTH) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return line.length <= MAX_LINE_LENGTH ? [line] : lines;
}

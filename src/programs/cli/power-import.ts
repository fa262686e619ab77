import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type LabelSelector, labels, parseLabelSelector } from "../../core/api/index.ts";
import { fail, ok, type Result, renderTable } from "../../core/units/index.ts";
import type { ImportPlan, ImportStep, MachineAccess, MachineSource } from "../power/index.ts";
import {
  type CliEnvironment,
  type CommandTools,
  contextOption,
  exitCodes,
  kubeconfigOption,
  namespaceOption,
  onCluster,
} from "./cluster-command.ts";

const HELP = `
Without --yes it only shows what it would write: a PowerEndpoint for each machine, and the labels
${labels.managed}=true and ${labels.maySleep}=true for its node. A node sleeps only after joulie power test.

  joulie power import hosts.csv             node,address,secret (also: type,system,ca-secret,insecure)
  joulie power import --pattern https://{node}.bmc.example --secret bmc
  joulie power import --metal3 metal3-system`;

interface ImportFlags {
  readonly pattern?: string;
  readonly metal3?: string;
  readonly selector: LabelSelector;
  readonly type: MachineAccess["type"];
  readonly secret?: string;
  readonly caSecret?: string;
  readonly insecure?: true;
  readonly labels: boolean;
  readonly yes: boolean;
  readonly namespace: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

/** `joulie power import`. */
export function definePowerImport(command: Command, { world, exit }: CommandTools): void {
  command
    .argument("[file]", "CSV file with a header")
    .addOption(new Option("--pattern <url>", "address of each node's switch, with {node} in it"))
    .addOption(new Option("--metal3 <namespace>", "BareMetalHosts that nodes name in their provider ID"))
    .addOption(
      new Option("-l, --selector <labels>", "nodes for --pattern")
        .argParser(selectorOf)
        .default(selectorOf(`${labels.managed}=true`), `${labels.managed}=true`),
    )
    .addOption(
      new Option("--type <type>", "how machines are switched").choices(["redfish", "webhook"]).default("redfish"),
    )
    .addOption(new Option("--secret <name>", "Secret with the credentials, unless the list names one"))
    .addOption(new Option("--ca-secret <name>", "Secret with the certificate authority of BMCs"))
    .addOption(new Option("--insecure", "accept every certificate of BMCs"))
    .addOption(new Option("--no-labels", "leave the labels of nodes alone"))
    .addOption(new Option("--yes", "write it").default(false))
    .addOption(namespaceOption())
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", HELP)
    .action(async (file: string | undefined, flags: ImportFlags) => exit(await runImport(file, flags, world)));
}

function selectorOf(text: string): LabelSelector {
  const parsed = parseLabelSelector(text);
  if (!parsed.ok) throw new InvalidArgumentError("It is not a label selector.");
  return parsed.value;
}

async function runImport(file: string | undefined, flags: ImportFlags, world: CliEnvironment): Promise<number> {
  const source = await sourceOf(file, flags);
  if (!source.ok) {
    for (const problem of source.error) world.err(`joulie power import: ${problem} (JOULIE_E_USAGE)\n`);
    return exitCodes.misused;
  }
  const { kubeconfig, context, namespace, yes } = flags;
  const command = { name: "power import", fieldManager: "joulie-cli", kubeconfig, context, callsPerSecond: 50 };
  return onCluster(command, world, async ({ client }) => {
    const { importMachines, planMachineImport, switchText } = await import("../power/index.ts");
    const plan = await planMachineImport(source.value, { client, namespace, labelNodes: flags.labels });
    world.out(planText(plan, switchText));
    if (plan.steps.length === 0) return "no machine was found";
    const failures = yes ? await importMachines(client, plan.steps) : [];
    for (const failure of failures) world.err(`joulie power import: ${failure}\n`);
    const rejected = plan.steps.filter(({ action }) => action === "reject").length;
    world.out(`${yes ? "written" : "dry run: nothing was written; --yes writes it"}. ${NEXT}\n`);
    if (failures.length + rejected === 0) return undefined;
    return `${rejected} of ${plan.steps.length} machines were rejected, ${failures.length} writes failed`;
  });
}

const NEXT = "Next: joulie power test --all";

async function sourceOf(
  file: string | undefined,
  flags: ImportFlags,
): Promise<Result<MachineSource, readonly string[]>> {
  const { pattern, metal3, selector, type, secret, caSecret, insecure } = flags;
  const access: MachineAccess = { type, secret, caSecret, insecure };
  if ([file, pattern, metal3].filter((given) => given !== undefined).length !== 1)
    return fail(["name one of a file, --pattern and --metal3"]);
  if (metal3 !== undefined) return ok({ kind: "metal3", namespace: metal3 });
  if (pattern !== undefined)
    return pattern.includes("{node}")
      ? ok({ kind: "pattern", pattern, access, selector })
      : fail([`--pattern=${JSON.stringify(pattern)} lacks {node}`]);
  const { readMachineList } = await import("../power/index.ts");
  try {
    const machines = readMachineList(await readFile(file ?? "", "utf8"), file ?? "", access);
    return machines.ok ? ok({ kind: "list", machines: machines.value }) : machines;
  } catch (error) {
    return fail([`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`]);
  }
}

function planText({ steps, secrets }: ImportPlan, switchText: (spec: ImportStep["spec"]) => string): string {
  const rows = steps.map(({ node, action, spec, labels: added, why }) => [
    node,
    action,
    switchText(spec),
    [...(why === undefined ? [] : [why]), ...Object.keys(added).map((name) => `label ${name}`)].join(", "),
  ]);
  const count = (action: ImportStep["action"]) => steps.filter((step) => step.action === action).length;
  const summary = `${count("create")} to create, ${count("change")} to change, ${count("same")} as they are, ${count("reject")} rejected`;
  return [
    renderTable([["NODE", "ACTION", "SWITCH", "NOTE"], ...rows]),
    ...secrets.map((text) => `${text}\n`),
    `${summary}\n`,
  ].join("");
}

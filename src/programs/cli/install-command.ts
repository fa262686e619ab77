import { type Command, Option } from "commander";
import { type PresetName, presetNames } from "../../core/presets/index.ts";
import { fail, ok, type Result } from "../../core/units/index.ts";
import type { Image } from "../install/index.ts";
import {
  type CliEnvironment,
  type CommandTools,
  contextOption,
  exitCodes,
  kubeconfigOption,
  onCluster,
} from "./cluster-command.ts";

const HELP = `
Looks at the cluster and prints what it found, the chart's values and the commands that install Joulie there, or
upgrade it. Nothing changes without --yes, which runs them with helm and kubectl. What a client cannot do stays
under "By hand". Arguments after -- go to helm:

  joulie install --image registry.example/joulie:0.1.0
  joulie install --image registry.example/joulie:0.1.0 --yes -- --timeout 15m --set dashboard.enabled=true`;

interface InstallFlags {
  readonly image?: string;
  readonly preset?: PresetName;
  readonly yes: boolean;
  readonly namespace?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
}

/** `joulie install`. */
export function defineInstall(command: Command, { world, exit }: CommandTools): void {
  command
    .argument("[helm arguments...]", "after --: for helm")
    .addOption(new Option("--image <name>", "Joulie's image with its tag or digest; asked for on a terminal"))
    .addOption(
      new Option("--preset <name>", "what it is for; observe, or that of the installed release").choices(presetNames),
    )
    .addOption(new Option("--yes", "run the commands").default(false))
    .addOption(
      new Option("-n, --namespace <name>", "namespace; that of the installation, else joulie-system if not given"),
    )
    .addOption(contextOption())
    .addOption(kubeconfigOption())
    .addHelpText("after", HELP)
    .action(async (helmArgs: readonly string[], flags: InstallFlags) => exit(await install(helmArgs, flags, world)));
}

async function install(helmArgs: readonly string[], flags: InstallFlags, world: CliEnvironment): Promise<number> {
  const { readClusterFacts, chartFolder, nodeKindsOf, planInstallation, planText, runCommands } = await import(
    "../install/index.ts"
  );
  const misused = (problem: string): number => {
    world.err(`joulie install: ${problem}; see joulie install --help (JOULIE_E_USAGE)\n`);
    return exitCodes.misused;
  };
  const [first = "-"] = helmArgs;
  if (!first.startsWith("-")) return misused(`${JSON.stringify(first)} is no flag of helm`);
  const chart = chartFolder();
  if (chart === undefined) return misused("the chart is not beside this program: run it from the package of Joulie");
  let image = await imageOf(flags.image, undefined);
  if (!image.ok) return misused(image.error);
  const { kubeconfig, context, preset, yes } = flags;
  return onCluster({ name: "install", fieldManager: "joulie-cli", kubeconfig, context }, world, async ({ client }) => {
    const { installationNamespace } = await import("../console/index.ts");
    const namespace = await installationNamespace(client, flags.namespace);
    const facts = await readClusterFacts(client, namespace);
    if (image.ok && image.value === undefined && !facts.installed) image = await imageOf(undefined, world);
    if (!image.ok) return image.error;
    const choices = { namespace, chart, preset, image: image.value, helmArgs, kubeconfig, context };
    const plan = planInstallation(facts, nodeKindsOf(chart), choices);
    world.out(planText(plan, world.columns));
    if (!yes) {
      world.out("\nNothing was changed; --yes runs the commands.\n");
      return undefined;
    }
    if (plan.problem !== undefined) return plan.problem;
    return runCommands(plan.commands, world);
  });
}

/** The image that the flag names, else the one that the user answers on a terminal. */
async function imageOf(
  flag: string | undefined,
  world: CliEnvironment | undefined,
): Promise<Result<Image | undefined, string>> {
  const { DEFAULT_IMAGE, IMAGE_QUESTION, readImage } = await import("../install/index.ts");
  if (flag !== undefined) return readImage(flag);
  if (world === undefined) return ok(undefined);
  const answer = world.ask === undefined ? "" : await world.ask(IMAGE_QUESTION);
  if (answer === undefined) return fail("no answer");
  return readImage(answer.trim() || DEFAULT_IMAGE);
}

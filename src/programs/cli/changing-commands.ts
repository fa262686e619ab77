import { type Command, Option } from "commander";
import { type Profile, profiles } from "../../core/api/index.ts";
import type { Milliseconds } from "../../core/units/index.ts";
import { pinNode, setStopped, unpinNode } from "../console/index.ts";
import { type CommandTools, positiveDurationOf } from "./cluster-command.ts";
import { type ClusterOptions, clusterOptions, inConsole } from "./console-session.ts";

interface PinOptions extends ClusterOptions {
  readonly profile: Profile;
  readonly cpuCap?: string;
  readonly gpuCap?: string;
  readonly for?: Milliseconds;
}

const PIN_HELP = `
Caps are watts per CPU package or GPU (210W) or percent of the maximum (60%). Without caps the node has those of the
profile. The operator plans the other nodes around the pin. With --for the operator ignores the pin after that time.`;

export function definePin(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .argument("<node>", "name of the node")
    .addOption(new Option("--profile <profile>", "performance or eco").choices(profiles).makeOptionMandatory())
    .addOption(new Option("--cpu-cap <cap>", "cap of each CPU package: 210W or 60%"))
    .addOption(new Option("--gpu-cap <cap>", "cap of each GPU: 300W or 60%"))
    .addOption(
      new Option("--for <duration>", "how long, such as 2h; unset = until unpin").argParser(positiveDurationOf),
    )
    .addHelpText("after", PIN_HELP)
    .action(async (node: string, { for: duration, ...options }: PinOptions) =>
      inConsole("pin", options, tools, async (context) => {
        context.out(await pinNode(context, { ...options, node, duration }));
        return undefined;
      }),
    );
}

export function defineUnpin(command: Command, tools: CommandTools): void {
  clusterOptions(command)
    .argument("<node>", "name of the node")
    .action(async (node: string, options: ClusterOptions) =>
      inConsole("unpin", options, tools, async (context) => {
        context.out(await unpinNode(context, node));
        return undefined;
      }),
    );
}

const defineStopSwitch =
  (name: string, stopped: boolean) =>
  (command: Command, tools: CommandTools): void => {
    clusterOptions(command).action(async (options: ClusterOptions) =>
      inConsole(name, options, tools, async (context) => {
        context.out(await setStopped(context, context.namespace, stopped));
        return undefined;
      }),
    );
  };
export const defineStop = defineStopSwitch("stop", true);
export const defineResume = defineStopSwitch("resume", false);

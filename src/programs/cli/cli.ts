import { Command, CommanderError, Help } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import type { ErrorCode } from "../../core/api/index.ts";
import { withoutControlCharacters } from "../../platform/printable/index.ts";
import type { Program } from "../index.ts";
import { type CliEnvironment, type CommandTools, exitCodes } from "./cluster-command.ts";
import { type OneShotCommand, oneShotCommands, programSubcommands } from "./one-shot-commands.ts";

/** Runs `joulie …`: finds the program, reads its configuration and starts it. Returns the exit code. */
export async function run(
  args: readonly string[],
  programs: readonly Program[],
  world: CliEnvironment,
): Promise<number> {
  let exitCode: number = exitCodes.done;
  const joulie = new Command("joulie")
    .description(packageJson.description)
    .version(packageJson.version, "--version", "print the version")
    .helpCommand(false);
  obey(joulie, "joulie", world);
  /** Commands whose flags and actions are not loaded yet. */
  const unloaded = new Map<Command, () => Promise<void>>();
  const load = async (command: Command): Promise<void> => {
    const define = unloaded.get(command);
    unloaded.delete(command);
    await define?.();
  };
  const tools: CommandTools = {
    world,
    programs,
    exit: (code) => {
      exitCode = code;
    },
    prepare: (command, name) => {
      obey(command, name, world);
      return command;
    },
    commandAt: async (names) => {
      let found: Command | undefined = joulie;
      for (const name of names) {
        found = found?.commands.find((child) => child.name() === name);
        if (found !== undefined) await load(found);
      }
      return found;
    },
  };

  const lazyProgram = (program: Program): LazyCommand => ({
    ...program,
    children: [
      ...(program.actions ?? []).map(lazyProgram),
      ...(programSubcommands[program.name] ?? []).map(lazyCommand),
    ],
    define: async (command, name) => {
      const { addFlags, runProgram } = await import("./program-command.ts");
      addFlags(command, await program.config());
      command.action(async () => tools.exit(await runProgram(program, name, programs, command, world)));
    },
  });
  const lazyCommand = (oneShot: OneShotCommand): LazyCommand => ({
    ...oneShot,
    children: [],
    define: async (command) => (await oneShot.load())(command, tools),
  });

  /** Flags belong to the command before them: `joulie agent probe --json` is not a flag of `joulie agent`. */
  function addCommands(parent: Command, parentName: string, children: readonly LazyCommand[]): void {
    if (children.length === 0) return;
    parent.enablePositionalOptions();
    for (const { name, summary, children: own, define } of children) {
      const command = parent.command(name).description(summary).helpCommand(false);
      const fullName = `${parentName} ${name}`;
      obey(command, fullName, world);
      unloaded.set(command, async () => define(command, fullName));
      addCommands(command, fullName, own);
    }
    // Only the selected command is loaded, which keeps `--help` and `--version` fast.
    parent.hook("preSubcommand", async (_, command) => load(command));
  }
  addCommands(joulie, "joulie", [...programs.map(lazyProgram), ...oneShotCommands.map(lazyCommand)]);
  try {
    const asked = args[0] === "help" ? [...args.slice(1), "--help"] : args;
    const [first] = asked;
    // Commander accepts an unknown command before `--help`. Without the flag it reports the error and suggests the
    // nearest command.
    const known =
      first === undefined || first.startsWith("-") || joulie.commands.some((command) => command.name() === first);
    await joulie.parseAsync(known ? asked : [first], { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitCodes.done : exitCodes.misused;
  }
  return exitCode;
}

const USAGE: ErrorCode = "JOULIE_E_USAGE";

interface LazyCommand {
  readonly name: string;
  readonly summary: string;
  readonly children: readonly LazyCommand[];
  readonly define: (command: Command, name: string) => Promise<void>;
}

/** Redirects commander's output and exit codes, and prints one line per problem. */
function obey(command: Command, name: string, world: CliEnvironment): void {
  command.createHelp = () => new WrappedHelp();
  command
    .exitOverride()
    .helpOption("-h, --help", "print this help")
    .allowExcessArguments(false)
    .configureOutput({
      writeOut: world.out,
      writeErr: world.err,
      outputError: (text, write) => {
        // Commander prints hints on separate lines.
        const line = withoutControlCharacters(text.replace(/^error: /, ""));
        write(`${name}: ${line}; see ${name} --help (${USAGE})\n`);
      },
    });
}

/** Share of the terminal width. Longer flags get a separate line, which leaves room for the description. */
const TERM_SHARE = 0.35;
const DEFAULT_WIDTH = 80;

/** Commander's help does not wrap descriptions if one flag is long; this class always wraps. */
class WrappedHelp extends Help {
  override minWidthToWrap = 16;

  override padWidth(command: Command, helper: Help): number {
    const room = Math.floor((this.helpWidth ?? DEFAULT_WIDTH) * TERM_SHARE);
    return Math.min(super.padWidth(command, helper), room);
  }

  override formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    if (description === "" || helper.displayWidth(term) <= termWidth) {
      return super.formatItem(term, termWidth, description, helper);
    }
    return `${super.formatItem(term, termWidth, "", helper)}\n${super.formatItem("", termWidth, description, helper)}`;
  }
}

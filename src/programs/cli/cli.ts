import { Command, CommanderError } from "commander";
import packageJson from "../../../package.json" with { type: "json" };
import type { Program } from "../index.ts";
import { type CliEnvironment, type CommandTools, exitCodes } from "./cluster-command.ts";
import { configureOutput } from "./commander-output.ts";
import { type OneShotCommand, oneShotCommands, programSubcommands } from "./one-shot-commands.ts";

/** Runs `joulie …`: finds the program, reads its configuration and starts it. Returns the exit code. */
export async function run(
  args: readonly string[],
  programs: readonly Program[],
  world: CliEnvironment,
): Promise<number> {
  const tree = new CommandTree(programs, world);
  try {
    await tree.run(args);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitCodes.done : exitCodes.misused;
  }
  return tree.exitCode;
}

interface LazyCommand {
  readonly name: string;
  readonly summary: string;
  readonly children: readonly LazyCommand[];
  /** Adds the flags and the action. It runs only for the selected command, which keeps `--help` and `--version` fast. */
  readonly define: (command: Command, fullName: string) => Promise<void>;
}

/** The commands of `joulie`. Each one has its name and summary at once, and its flags and action when it is selected. */
class CommandTree {
  exitCode: number = exitCodes.done;
  readonly #root: Command;
  readonly #programs: readonly Program[];
  readonly #world: CliEnvironment;
  /** Commands whose flags and actions are not loaded yet. */
  readonly #unloaded = new Map<Command, () => Promise<void>>();

  constructor(programs: readonly Program[], world: CliEnvironment) {
    this.#programs = programs;
    this.#world = world;
    this.#root = new Command("joulie")
      .description(packageJson.description)
      .version(packageJson.version, "--version", "print the version")
      .helpCommand(false);
    configureOutput(this.#root, "joulie", world);
    const programCommands = programs.map((program) => this.#programCommand(program));
    const otherCommands = oneShotCommands.map((command) => this.#oneShotCommand(command));
    this.#addCommands(this.#root, "joulie", [...programCommands, ...otherCommands]);
  }

  async run(args: readonly string[]): Promise<void> {
    const words = args[0] === "help" ? [...args.slice(1), "--help"] : args;
    const [first] = words;
    const isUnknown = first !== undefined && !first.startsWith("-") && childNamed(this.#root, first) === undefined;
    // Commander accepts an unknown command before `--help`. Without the flag it reports the error and suggests the
    // nearest command.
    await this.#root.parseAsync(isUnknown ? [first] : words, { from: "user" });
  }

  #programCommand(program: Program): LazyCommand {
    const actions = (program.actions ?? []).map((action) => this.#programCommand(action));
    const subcommands = (programSubcommands[program.name] ?? []).map((command) => this.#oneShotCommand(command));
    return {
      name: program.name,
      summary: program.summary,
      children: [...actions, ...subcommands],
      define: async (command, fullName) => {
        const { addFlags, runProgram } = await import("./program-command.ts");
        addFlags(command, await program.config());
        command.action(async () => {
          this.exitCode = await runProgram(program, fullName, this.#programs, command, this.#world);
        });
      },
    };
  }

  #oneShotCommand({ name, summary, load }: OneShotCommand): LazyCommand {
    return { name, summary, children: [], define: async (command) => (await load())(command, this.#tools()) };
  }

  #tools(): CommandTools {
    return {
      world: this.#world,
      programs: this.#programs,
      exit: (code) => {
        this.exitCode = code;
      },
      prepare: (command, name) => {
        configureOutput(command, name, this.#world);
        return command;
      },
      commandAt: async (names) => this.#commandAt(names),
    };
  }

  /** Loads the commands on the way, because some add their subcommands only then. */
  async #commandAt(names: readonly string[]): Promise<Command | undefined> {
    let command: Command | undefined = this.#root;
    for (const name of names) {
      command = command && childNamed(command, name);
      if (command !== undefined) await this.#load(command);
    }
    return command;
  }

  /** Flags belong to the command before them: `joulie agent probe --json` is not a flag of `joulie agent`. */
  #addCommands(parent: Command, parentName: string, commands: readonly LazyCommand[]): void {
    if (commands.length === 0) return;
    parent.enablePositionalOptions();
    for (const { name, summary, children, define } of commands) {
      const command = parent.command(name).description(summary).helpCommand(false);
      const fullName = `${parentName} ${name}`;
      configureOutput(command, fullName, this.#world);
      this.#unloaded.set(command, async () => define(command, fullName));
      this.#addCommands(command, fullName, children);
    }
    parent.hook("preSubcommand", async (_, command) => this.#load(command));
  }

  async #load(command: Command): Promise<void> {
    const define = this.#unloaded.get(command);
    this.#unloaded.delete(command);
    await define?.();
  }
}

const childNamed = (parent: Command, name: string): Command | undefined =>
  parent.commands.find((child) => child.name() === name);

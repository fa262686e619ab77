// npm run mutation -- wiring [PROGRAM | VARIABLE]…: writes the default in place of each read of each variable, one at a time,
// and runs the test of that variable (test/wiring). Every one has to fail. Nothing in the work tree is changed.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createVitest, type TestModule, type Vitest } from "vitest/node";
import { everyProgram, variableNames } from "../../src/platform/config/index.ts";
import { programs } from "../../src/programs/index.ts";
import { type Mutant, mutantsOf, withMutants } from "./read-sites.ts";

const root = join(import.meta.dirname, "../..");

interface NumberedMutant extends Mutant {
  readonly id: number;
  readonly program: string;
}

/** Gives the exit code. */
export async function mutateWiring(named: readonly string[]): Promise<number> {
  const isVariable = (name: string): boolean => /^[A-Z]/.test(name);
  const [variables, only] = [named.filter(isVariable), named.filter((name) => !isVariable(name))];
  const chosen = programs.filter(({ name }) => only.length === 0 || only.includes(name));
  const mutants: NumberedMutant[] = [];
  let [killed, survived] = [0, 0];
  for (const one of chosen) {
    const program = one.name;
    const configs = await Promise.all([one, ...(one.actions ?? [])].map(async (each) => each.config()));
    const reads = mutantsOf(program, configs);
    for (const variable of new Set(configs.flatMap(variableNames))) {
      if (variables.length > 0 && !variables.includes(variable)) continue;
      const own = reads.filter((mutant) => mutant.variable === variable);
      for (const mutant of own) mutants.push({ ...mutant, program, id: mutants.length });
      const isReadForAll = Object.hasOwn(everyProgram, variable) && program !== "operator";
      if (own.length > 0 || isReadForAll) continue;
      survived++;
      console.log(`${program} ${variable}: NEVER READ`);
    }
  }
  if (mutants.length === 0) {
    console.error(
      `joulie: nothing is named ${named.join(" ")}; programs: ${programs.map(({ name }) => name).join(", ")}`,
    );
    return 2;
  }
  const tests = await WiringTests.open(mutants);
  try {
    for (const { name } of chosen) {
      const broken = variables.length === 0 ? await tests.failures(name) : [];
      if (broken.length > 0) throw new Error(`test/wiring/${name} fails without a mutant: ${broken.join("; ")}`);
      for (const mutant of mutants.filter(({ program }) => program === name)) {
        const isKilled = (await tests.failures(name, mutant)).length > 0;
        if (isKilled) killed++;
        else survived++;
        const where = `${relative(root, mutant.file)}:${mutant.line}`;
        console.log(`${name} ${mutant.variable} ${where}: ${isKilled ? "killed" : "SURVIVED"}`);
      }
    }
  } finally {
    await tests.close();
  }
  console.log(`\n${killed} killed, ${survived} survived`);
  return survived === 0 ? 0 : 1;
}

/** The tables of test/wiring in one vitest: the programs are compiled once, with all mutants in them, one of them alive. */
class WiringTests {
  readonly #vitest: Vitest;
  readonly #folder: string;

  private constructor(vitest: Vitest, folder: string) {
    this.#vitest = vitest;
    this.#folder = folder;
  }

  static async open(mutants: readonly NumberedMutant[]): Promise<WiringTests> {
    const folder = mkdtempSync(join(tmpdir(), "joulie-mutation-"));
    process.env["JOULIE_MUTANT"] = join(folder, "mutant.json");
    process.env["NODE_OPTIONS"] = `--import=${join(import.meta.dirname, "apply.ts")}`;
    const byFile = Map.groupBy(mutants, ({ file }) => file);
    const transform = (text: string, id: string): string | undefined => {
      // What all programs share has a mutant for each of them at one place.
      const places = Map.groupBy(byFile.get(id) ?? [], ({ start }) => start);
      const own = Array.from(places.values(), (here) => ({
        ...(here[0] as Mutant),
        condition: `[${here.map((mutant) => mutant.id).join(", ")}].includes(globalThis.joulieMutant)`,
      }));
      return own.length === 0 ? undefined : withMutants(text, own);
    };
    const vitest = await createVitest(
      {
        root,
        config: false,
        include: ["test/wiring/*.test.ts"],
        setupFiles: [join(import.meta.dirname, "activate.ts")],
        watch: false,
        isolate: false,
        // On disk it would outlive this run, mutants and all.
        fsModuleCache: false,
        maxWorkers: 1,
        reporters: [{}],
        testTimeout: 30_000,
      },
      { plugins: [{ name: "mutants", enforce: "pre", transform }] },
    );
    return new WiringTests(vitest, folder);
  }

  /** Of all tests of a program, or with a mutant of those of its variable. */
  async failures(program: string, mutant?: NumberedMutant): Promise<readonly string[]> {
    writeFileSync(join(this.#folder, "mutant.json"), mutant === undefined ? "" : JSON.stringify(mutant));
    if (mutant === undefined) this.#vitest.resetGlobalTestNamePattern();
    else this.#vitest.setGlobalTestNamePattern(new RegExp(`\\b${mutant.variable} has an effect$`));
    const all = await this.#vitest.globTestSpecifications();
    const own = all.filter(({ moduleId }) => new RegExp(`/${program}(?:-\\w+)?\\.test\\.ts$`).test(moduleId));
    const { testModules: remembered } = await this.#vitest.runTestSpecifications(own);
    // It remembers those of earlier runs, too.
    const testModules = remembered.filter(({ moduleId }) => own.some((one) => one.moduleId === moduleId));
    const ran = testModules
      .flatMap(({ children }) => [...children.allTests()])
      .filter((test) => ["passed", "failed"].includes(test.result().state));
    if (ran.length === 0) {
      const why = testModules.flatMap((module) => module.errors().map(({ message }) => message)).join("; ");
      throw new Error(
        `test/wiring/${program} ran no test${mutant === undefined ? "" : ` of ${mutant.variable}`}: ${why}`,
      );
    }
    return testModules.flatMap(failuresOf);
  }

  async close(): Promise<void> {
    await this.#vitest.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const failuresOf = ({ children }: TestModule): string[] =>
  [...children.allTests("failed")].map((test) => `${test.fullName}: ${test.result().errors?.[0]?.message}`);

import { spawn } from "node:child_process";

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly limitMs?: number;
  /** Returns standard error too, after standard output. */
  readonly withErrors?: boolean;
}

/** Runs a command to its end and returns its standard output; a failure contains the end of its standard error. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, env = {}, input, limitMs = 300_000, withErrors = false } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      timeout: limitMs,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve(withErrors ? stdout + stderr : stdout);
      else
        reject(new Error(`${command} ${args.join(" ")} ended with ${code ?? signal}: ${stderr.trim().slice(-2000)}`));
    });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

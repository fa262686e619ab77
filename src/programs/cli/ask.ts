import { createInterface } from "node:readline";

/** Asks on the terminal. Undefined if the user ends the input instead of answering. */
export async function ask(question: string): Promise<string | undefined> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  terminal.once("close", () => resolve(undefined));
  terminal.question(question, resolve);
  const answer = await promise;
  terminal.close();
  if (answer === undefined) process.stdout.write("\n");
  return answer;
}

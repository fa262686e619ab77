import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, it } from "vitest";
import { milliseconds } from "../../core/units/index.ts";
import { systemClock } from "../clock/index.ts";
import { VirtualClock } from "../clock/testing/index.ts";
import { ForwardCache, kubectlForwarder } from "./index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "joulie-forward-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A program in place of kubectl that notes its arguments, and that it was ended: from its first line on, as a test may be fast. */
function kubectl(script: string): string {
  const file = join(folder, "kubectl");
  writeFileSync(file, `#!/bin/sh\n${NOTES_END}\necho "$@" > ${folder}/arguments\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}
const target = { namespace: "joulie-system", pod: "joulie-operator-1", port: 8081 };
const NOTES_END = "trap 'echo ended > $0.ended; kill $! 2> /dev/null; exit 0' TERM";
/** A trap of the shell runs only between commands or in `wait`. */
const WAITS = "sleep 1000 > /dev/null 2>&1 & wait";

it("CLI-18 opens a port of loopback as the user of the kubeconfig, and ends kubectl when it is closed", async () => {
  const file = kubectl(`echo "Forwarding from 127.0.0.1:41234 -> 8081"\n${WAITS}`);
  const forward = kubectlForwarder({ clock: systemClock, kubectl: file, kubeconfig: "/k", context: "c" });
  const forwarded = await forward(target);
  expect(forwarded.url).toBe("http://127.0.0.1:41234");
  expect(readFileSync(join(folder, "arguments"), "utf8")).toBe(
    "--kubeconfig /k --context c -n joulie-system port-forward --address 127.0.0.1 pod/joulie-operator-1 :8081\n",
  );
  expect(forwarded.isOpen).toBe(true);
  await forwarded.close();
  expect(forwarded.isOpen).toBe(false);
  expect(readFileSync(`${file}.ended`, "utf8")).toBe("ended\n");
});

it("CLI-18 says what kubectl said if it fails, is missing, or is not ready in time", async () => {
  const failing = kubectl('echo "error: pods is forbidden" >&2; exit 1');
  await expect(kubectlForwarder({ clock: systemClock, kubectl: failing })(target)).rejects.toThrow(
    "kubectl port-forward: error: pods is forbidden",
  );
  const absent = join(folder, "none");
  await expect(kubectlForwarder({ clock: systemClock, kubectl: absent })(target)).rejects.toThrow(/^cannot run .*none/);
  rmSync(join(folder, "arguments"));
  const silent = kubectl(WAITS);
  const clock = new VirtualClock();
  const impatient = kubectlForwarder({ clock, kubectl: silent, timeout: milliseconds(300) })(target);
  const refused = impatient.catch((error: Error) => error.message);
  // From here on it notes that it was ended.
  await expect.poll(() => existsSync(join(folder, "arguments"))).toBe(true);
  await clock.advanceAsync(milliseconds(300));
  expect(await refused).toContain("not ready within 300ms");
  expect(readFileSync(`${silent}.ended`, "utf8")).toBe("ended\n");
});

/** A program that opens a port and waits; ready once it prints a line. */
async function programWithForward(file: string, atEnd: string) {
  const from = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const code = `
    import { kubectlForwarder } from ${from("./index.ts")};
    import { systemClock } from ${from("../clock/index.ts")};
    const { isOpen } = await kubectlForwarder({ clock: systemClock, kubectl: ${JSON.stringify(file)} })(${JSON.stringify(target)});
    ${atEnd}
    console.log(isOpen);`;
  const program = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(program.stdout, "data");
  return program;
}

it("CLI-18 leaves no kubectl behind if a signal or an error ends the program", async () => {
  const file = kubectl(`echo "Forwarding from 127.0.0.1:41234 -> 8081"\n${WAITS}`);
  const hasEnded = () => existsSync(`${file}.ended`);
  const waiting = await programWithForward(file, "setInterval(() => undefined, 1000);");
  const closed = once(waiting, "close");
  waiting.kill("SIGTERM");
  expect(await closed).toEqual([null, "SIGTERM"]);
  await expect.poll(hasEnded).toBe(true);
  rmSync(`${file}.ended`);
  const exiting = await programWithForward(file, "process.stdin.once('data', () => process.exit(3));");
  exiting.stdin.write("end\n");
  expect(await once(exiting, "close")).toEqual([3, null]);
  await expect.poll(hasEnded).toBe(true);
});

it("CLI-18 leaves the end on a signal to a program that handles it", async () => {
  const file = kubectl(`echo "Forwarding from 127.0.0.1:41234 -> 8081"\n${WAITS}`);
  const handled = "process.once('SIGTERM', () => setImmediate(() => process.exit(0))); setInterval(() => {}, 1000);";
  const program = await programWithForward(file, handled);
  const closed = once(program, "close");
  program.kill("SIGTERM");
  expect(await closed).toEqual([0, null]);
});

it("CLI-18 opens a port once, again if its pod is gone, and closes all at the end", async () => {
  const opened: { isOpen: boolean; url: string }[] = [];
  const cache = new ForwardCache(async ({ pod }) => {
    const port = { url: `http://${pod}-${opened.length}`, isOpen: true, close: async () => void (port.isOpen = false) };
    opened.push(port);
    return port;
  });
  const ask = async (pod: string) => {
    const port = await cache.forward({ namespace: "n", pod, port: 1 });
    await port.close();
    return port.url;
  };
  expect([await ask("a"), await ask("a"), await ask("b")]).toEqual(["http://a-0", "http://a-0", "http://b-1"]);
  if (opened[0] !== undefined) opened[0].isOpen = false;
  expect(await ask("a")).toBe("http://a-2");
  await cache.close();
  expect(opened.map(({ isOpen }) => isOpen)).toEqual([false, false, false]);
});

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle } from "./bundle.ts";

const run = promisify(execFile);
const root = resolve(import.meta.dirname, "..");

/** The agent's GPU access in isolation. */
const entry = `
  import { systemClock } from ${JSON.stringify(join(root, "src/platform/clock/index.ts"))};
  import { findGpuBackend, HostDirectory } from ${JSON.stringify(join(root, "src/platform/hardware/index.ts"))};
  const [folder] = process.argv.slice(2);
  const files = new HostDirectory(folder + "/host");
  const backend = findGpuBackend({
    sys: files, proc: files, clock: systemClock, nvmlLibrary: folder + "/libno-nvml.so", stateDir: folder,
  });
  const { boards, absent } = await backend.discover();
  console.log(backend.name, boards?.map(({ id }) => id).join() ?? absent);
`;

let folder: string;
beforeAll(async () => {
  // Outside the checkout, so that no parent folder has node_modules.
  folder = mkdtempSync(join(tmpdir(), "joulie-bundle-"));
  writeFileSync(join(folder, "entry.ts"), entry);
  await bundle(join(folder, "gpus.mjs"), join(folder, "entry.ts"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const look = async (): Promise<string> => {
  const env = { PATH: "/usr/bin:/bin" };
  return (await run(process.execPath, [join(folder, "gpus.mjs"), folder], { env })).stdout;
};

describe("the bundle and koffi", () => {
  it("X-65 starts without koffi, and says what NVML needs", async () => {
    expect(await look()).toMatch(/^none .*npm install koffi/);
  });

  it("with koffi installed, loads the library", async () => {
    mkdirSync(join(folder, "node_modules"));
    for (const name of ["koffi", "@koromix"]) {
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    }
    expect(await look()).toMatch(/cannot load the NVML library \S*libno-nvml\.so/);
  });
});

describe("modules that every program of the bundle loads", () => {
  const rooms = ["core/api", "platform/kube", "platform/telemetry", "platform/metrics", "platform/serve"];
  let parts: string;
  beforeAll(async () => {
    parts = join(folder, "rooms");
    mkdirSync(parts);
    const imports = rooms.map(
      (room, index) => `import * as room${index} from ${JSON.stringify(join(root, "src", room, "index.ts"))};`,
    );
    const names = rooms.map((_, index) => `room${index}`).join();
    const used = `console.log([${names}].length, process.moduleLoadList.join("\\n"));`;
    writeFileSync(join(folder, "rooms.ts"), [...imports, used].join("\n"));
    await bundle(join(parts, "rooms.mjs"), join(folder, "rooms.ts"));
  });

  it("excludes Node's fetch, which importing node:http would load", async () => {
    const { stdout } = await run(process.execPath, [join(parts, "rooms.mjs")]);
    expect(stdout).toMatch(/^NativeModule http$/m);
    expect(stdout).not.toContain("internal/deps/undici");
    expect(stdout).not.toContain("sqlite");
  });

  it("includes only the used parts of undici, prom-client and zod: no fetch, second parser, push gateway or locales", () => {
    const text = loadedFrom(join(parts, "rooms.mjs"));
    const used = ["ConnectTimeoutError", "Histogram", "ZodString"];
    const unused = [
      "WebSocketStream",
      "MockAgent",
      "SqliteCacheStore",
      "isAutodetect",
      "Pushgateway",
      "Ungültige Eingabe",
    ];
    // Not the text itself, because a failure would print it.
    expect([...used, ...unused].filter((word) => text.includes(word))).toEqual(used);
  });
});

/** The text of a file and its static imports, without dynamic imports. */
function loadedFrom(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return "";
  seen.add(file);
  const text = readFileSync(file, "utf8");
  const imports = Array.from(text.matchAll(/\b(?:from|import)"(\.[^"]+)"/g), ([, path = ""]) =>
    join(dirname(file), path),
  );
  return [text, ...imports.map((path) => loadedFrom(path, seen))].join("\n");
}

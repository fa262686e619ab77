import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { imageConfig, imageSizeLimit } from "../../scripts/image/layout.ts";
import { run } from "./command.ts";

interface Manifest {
  readonly config: { readonly digest: string };
  readonly layers: readonly { readonly digest: string }[];
}

describe("npm run image", () => {
  let folder: string;
  const image = inject("image");
  let files: string[];
  const blob = (digest: string) => join(folder, "oci/blobs", digest.replace(":", "/"));
  const json = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"));
  const manifest = () => {
    const { manifests } = json(join(folder, "oci/index.json")) as { manifests: [{ digest: string }] };
    return json(blob(manifests[0].digest)) as Manifest;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "joulie-image-test-"));
    await run("mkdir", [join(folder, "oci"), join(folder, "root")]);
    await run("tar", ["-xf", image.archive, "-C", join(folder, "oci")]);
    for (const { digest } of manifest().layers) await run("tar", ["-xzf", blob(digest), "-C", join(folder, "root")]);
    files = (await run("find", [".", "-type", "f"], { cwd: join(folder, "root") })).trim().split("\n");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("stays below the size limit", () => {
    expect(image.bytes).toBeLessThan(imageSizeLimit);
  });

  it("has the configuration that the Dockerfile has", () => {
    const { config } = json(blob(manifest().config.digest)) as { config: object };
    expect(config).toMatchObject({
      User: imageConfig.user,
      WorkingDir: imageConfig.workingDirectory,
      Entrypoint: imageConfig.entrypoint,
      Labels: imageConfig.labels,
      Env: expect.arrayContaining(
        Object.entries(imageConfig.environment).map(([name, value]) => `${name}=${value}`),
      ) as string[],
    });
  });

  it("contains Node, the bundle and koffi, but neither npm nor a shell", () => {
    const expected = ["./usr/local/bin/node", "./app/joulie.mjs", "./app/node_modules/koffi/package.json"];
    expect(files).toEqual(expect.arrayContaining(expected));
    expect(files.filter((file) => /npm|\/(ba|da)?sh$|\.ts$|\.cc$/.test(file))).toEqual([]);
  });

  it("runs, with koffi, from its own files alone", async () => {
    const root = join(folder, "root");
    const node = ["chroot", root, "/usr/local/bin/node"];
    const [command = "", ...first] = node;
    expect(await run(command, [...first, "/app/joulie.mjs", "version"])).toMatch(/^joulie \d/);
    const load = "import('/app/node_modules/koffi/index.js').then((m) => console.log(typeof m.default.load))";
    expect(await run(command, [...first, "-e", load])).toBe("function\n");
  });

  it("comes with a CycloneDX bill of materials", () => {
    const bill = json(image.sbom) as { bomFormat: string; components: { name: string }[] };
    expect(bill.bomFormat).toBe("CycloneDX");
    const names = bill.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["node", "zod", "koffi", "libc6"]));
  });
});

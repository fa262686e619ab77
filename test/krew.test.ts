// The krew manifest and the plugin's entry point belong to what `npm pack` puts into the archive.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");

interface Plugin {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly version: string;
    readonly platforms: readonly {
      readonly bin: string;
      readonly uri: string;
      readonly sha256: string;
      readonly files: readonly { readonly from: string }[];
    }[];
  };
}

describe("kubectl joulie", () => {
  it("CLI-17 the krew manifest is valid once a release fills it in, and its bin is in the package", () => {
    const template = readFileSync(join(root, ".krew.yaml"), "utf8");
    const filled = template
      .replace(/\{\{addURIAndSha .*\}\}/, `uri: https://example.com/joulie.tgz\n      sha256: ${"0".repeat(64)}`)
      .replaceAll("{{ .TagName }}", `v${packageJson.version}`);
    const { metadata, spec } = parse(filled) as Plugin;
    expect(metadata.name).toBe("joulie");
    expect(spec.version).toMatch(/^v\d+\.\d+\.\d+$/);
    expect(spec.platforms).toHaveLength(1);
    for (const { bin, uri, sha256, files } of spec.platforms) {
      expect(Object.values(packageJson.bin)).toContain(bin);
      expect(packageJson.files).toContain(bin.split("/")[0]);
      expect(files).toEqual([{ from: "package/*", to: "." }]);
      expect([uri, sha256]).not.toContain(undefined);
    }
  });

  it("CLI-17 works under the name that kubectl looks for", () => {
    expect(packageJson.bin["kubectl-joulie"]).toBe(packageJson.bin.joulie);
    const folder = mkdtempSync(join(tmpdir(), "joulie-plugin-"));
    try {
      const plugin = join(folder, "kubectl-joulie");
      symlinkSync(join(root, packageJson.bin["kubectl-joulie"]), plugin);
      expect(execFileSync(process.execPath, [plugin, "version"], { encoding: "utf8" })).toContain(packageJson.version);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

export interface Component {
  readonly type: "library" | "platform";
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly license: { readonly id: string } }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

/** The CycloneDX bill of materials of an image: npm packages of the bundle, Node, and the system's libraries. */
export function billOfMaterials(lockFile: string, version: string, libraries: readonly string[]) {
  const components = [...npmComponents(lockFile), nodeRuntime(), ...systemComponents(libraries)];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      component: { type: "container", name: "joulie", version, licenses: [{ license: { id: "Apache-2.0" } }] },
    },
    components: components.toSorted((a, b) => (a.purl < b.purl ? -1 : 1)),
  };
}

/** Packages needed at run time on this platform, as the lock file names them. */
export function npmComponents(lockFile: string): Component[] {
  const { packages } = JSON.parse(readFileSync(lockFile, "utf8")) as { packages: Record<string, LockedPackage> };
  return Object.entries(packages).flatMap(([path, { version, license, integrity, dev, os, cpu }]) => {
    const name = path.split("node_modules/").at(-1) ?? "";
    if (name === "" || version === undefined || dev === true || name.startsWith("node-linux-")) return [];
    if (!(os?.includes(process.platform) ?? true) || !(cpu?.includes(process.arch) ?? true)) return [];
    const [algorithm = "", digest = ""] = integrity?.split("-") ?? [];
    return [
      {
        type: "library" as const,
        name,
        version,
        purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        ...(license === undefined ? {} : { licenses: [{ license: { id: license } }] }),
        ...(algorithm === "sha512"
          ? { hashes: [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }] }
          : {}),
      },
    ];
  });
}

const nodeRuntime = (): Component => ({
  type: "platform",
  name: "node",
  version: process.versions.node,
  purl: `pkg:generic/node@${process.versions.node}`,
  licenses: [{ license: { id: "MIT" } }],
});

/** The Debian packages that the libraries belong to. */
function systemComponents(libraries: readonly string[]): Component[] {
  const packages = new Set(libraries.flatMap((library) => packageOf(library) ?? []));
  return [...packages].map((name) => {
    const version = execFileSync("dpkg-query", ["--show", "--showformat=${Version}", name], { encoding: "utf8" });
    const plain = name.split(":")[0] ?? name;
    return { type: "library", name: plain, version, purl: `pkg:deb/debian/${plain}@${encodeURIComponent(version)}` };
  });
}

function packageOf(library: string): string | undefined {
  // Debian lists files under /usr or under /, whichever way /lib is linked.
  for (const path of [library, realpathSync(library), realpathSync(library).replace(/^\/usr/, "")]) {
    try {
      const found = execFileSync("dpkg-query", ["--search", path], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
      return /^([^:\s,]+)/.exec(found)?.[1];
    } catch {
      // Not under this name.
    }
  }
  return undefined;
}

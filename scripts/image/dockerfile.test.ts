import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { imageConfig } from "./layout.ts";
import { npmComponents } from "./sbom.ts";

const repository = join(import.meta.dirname, "../..");
const lines = readFileSync(join(repository, "Dockerfile"), "utf8").split("\n");
const final = lines.slice(lines.lastIndexOf("FROM scratch"));
const valuesOf = (instruction: string, of: readonly string[] = final): string[] =>
  of.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1));
const pairs = (instruction: string): Record<string, string> =>
  Object.fromEntries(
    valuesOf(instruction).map((text) => {
      const [name = "", ...value] = text.split("=");
      return [name, value.join("=").replaceAll('"', "")];
    }),
  );

describe("the Dockerfile", () => {
  it("has the user, entrypoint, environment and labels of `npm run image`", () => {
    expect(valuesOf("USER")).toEqual([imageConfig.user]);
    expect(valuesOf("WORKDIR")).toEqual([imageConfig.workingDirectory]);
    expect(valuesOf("ENTRYPOINT").map((text) => JSON.parse(text) as unknown)).toEqual([imageConfig.entrypoint]);
    expect(pairs("ENV")).toEqual(imageConfig.environment);
    expect(pairs("LABEL")).toEqual({
      ...imageConfig.labels,
      [imageConfig.buildLabels.version]: "${VERSION}",
      [imageConfig.buildLabels.revision]: "${REVISION}",
    });
  });

  it("has the files of `npm run image`, which the same script writes, and no others", () => {
    expect(lines).toContain("RUN node scripts/image/root.ts /image");
    expect(valuesOf("COPY")).toEqual(["--from=build /image /"]);
    expect(valuesOf("RUN")).toEqual([]);
    expect(valuesOf("ADD")).toEqual([]);
  });

  it("has the package's version by default", () => {
    const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as { version: string };
    expect(valuesOf("ARG")).toContain(`VERSION=${version}`);
  });

  it("can pin its base by digest", () => {
    expect(valuesOf("ARG", lines)).toContain("NODE_DIGEST=");
    expect(valuesOf("FROM", lines)[0]).toBe("${NODE_IMAGE}${NODE_DIGEST} AS build");
  });
});

describe("the bill of materials", () => {
  it("lists run-time packages with version and checksum, and no tools", () => {
    const components = npmComponents(join(repository, "package-lock.json"));
    const names = components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["undici", "zod", "koffi", "pino"]));
    expect(names).not.toContain("vitest");
    expect(components.find(({ name }) => name === "zod")).toMatchObject({
      purl: expect.stringMatching(/^pkg:npm\/zod@\d/) as string,
      hashes: [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
    });
  });
});

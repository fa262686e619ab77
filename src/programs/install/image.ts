import { fail, ok, type Result } from "../../core/units/index.ts";

/** Values of the chart. */
export interface Image {
  readonly [name: string]: string;
  readonly repository: string;
}

/** What `npm run image` builds, once each node has it. */
export const DEFAULT_IMAGE = "localhost/joulie:dev";

export const IMAGE_QUESTION = `Joulie's image, because none is published (docs/guides/install.md builds one).
repository:tag [${DEFAULT_IMAGE}, imported on every node]: `;

const REFERENCE = /^([^\s:@]+(?::\d+(?=\/)[^\s:@]+)?)(?::([\w][\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$/;

/** Reads `registry:5000/joulie:1.2`, or with a digest instead of a tag. */
export function readImage(text: string): Result<Image, string> {
  const [, repository, tag, digest] = REFERENCE.exec(text.trim()) ?? [];
  if (repository === undefined) return fail(`${JSON.stringify(text)} is no image, such as ${DEFAULT_IMAGE}`);
  if (tag === "latest") return fail("the tag latest is a different image tomorrow; name a version");
  if (tag === undefined && digest === undefined) return fail(`${repository} lacks a tag, such as ${repository}:dev`);
  const version: Record<string, string> = digest === undefined ? { tag: tag ?? "" } : { digest };
  // No registry has it.
  const isLocal = repository.startsWith("localhost/");
  return ok({ repository, ...version, ...(isLocal && { pullPolicy: "Never" }) });
}

export function imageText({ repository, tag, digest, pullPolicy }: Image): string {
  const name = digest === undefined ? `${repository}:${tag}` : `${repository}@${digest}`;
  return pullPolicy === "Never" ? `${name}, which every node needs; --image names another` : name;
}

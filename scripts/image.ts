// npm run image [-- REFERENCE]: builds dist/image/joulie.oci.tar with buildah, and joulie.cdx.json, its CycloneDX SBOM.
// npm run image -- dockerfile: builds the Dockerfile instead, without a registry, and runs the result (try-dockerfile.ts).
import { join, relative } from "node:path";
import { buildImage } from "./image/build.ts";
import { tryDockerfile } from "./image/try-dockerfile.ts";
import { ProgressReporter } from "./progress.ts";

const [reference = "localhost/joulie:dev"] = process.argv.slice(2);
const progress = new ProgressReporter("image");
const say = (step: string): void => progress.step(step);
try {
  if (reference === "dockerfile") {
    console.log(`joulie ${tryDockerfile(say)} runs in the image of the Dockerfile`);
    process.exit(0);
  }
  const image = await buildImage(join(import.meta.dirname, "../dist/image"), reference, say);
  progress.stop();
  const archive = relative(process.cwd(), image.archive);
  console.log(`${archive}: ${reference}, ${(image.bytes / 1e6).toFixed(0)} MB uncompressed`);
  console.log(`${relative(process.cwd(), image.sbom)}: its bill of materials`);
  console.log(
    `load it with: ctr -n k8s.io images import ${archive}, or: skopeo copy oci-archive:${archive} docker://REGISTRY/joulie:TAG`,
  );
} catch (error) {
  console.error(`joulie: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

export { readClusterFacts } from "./cluster-facts.ts";
export { planInstallation } from "./findings.ts";
export { DEFAULT_IMAGE, IMAGE_QUESTION, type Image, readImage } from "./image.ts";
export { chartFolder, nodeKindsOf, planText, runCommands } from "./install.ts";

import { startOptions } from "../../src/programs/start-options.ts";

/** Configuration of the image: `npm run image` applies it, and a test compares the Dockerfile with it. */
export const imageConfig = {
  user: "65532:65532",
  workingDirectory: "/app",
  entrypoint: ["/usr/local/bin/node", "/app/joulie.mjs"],
  // Options that suit every program; the chart adds those of each program.
  environment: {
    NODE_ENV: "production",
    NODE_OPTIONS: startOptions.agentPool.node.join(" "),
    ...startOptions.agentPool.environment,
  },
  labels: {
    "org.opencontainers.image.title": "Joulie",
    "org.opencontainers.image.description": "The energy manager for Kubernetes clusters",
    "org.opencontainers.image.licenses": "Apache-2.0",
    "org.opencontainers.image.source": "https://github.com/joulie-project/joulie",
  },
  /** Their values depend on the build. */
  buildLabels: { version: "org.opencontainers.image.version", revision: "org.opencontainers.image.revision" },
} as const;

export const imageSizeLimit = 130_000_000;

# syntax=docker/dockerfile:1
# Joulie for any platform: docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/joulie:TAG .
# `npm run image` builds the same files and configuration without a registry; scripts/image/dockerfile.test.ts compares them.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
# Pins the base, for example @sha256:0123…; `docker buildx imagetools inspect NODE_IMAGE` shows it.
ARG NODE_DIGEST=

FROM ${NODE_IMAGE}${NODE_DIGEST} AS build
RUN apt-get update && apt-get install --yes --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY package.json package-lock.json ./
# Not `npm ci`: the lock file names the optional packages of one platform only.
RUN npm install --ignore-scripts --no-save --no-audit --no-fund
COPY . .
RUN node scripts/image/root.ts /image

# Neither npm nor a shell: Node, its libraries, the bundle and koffi.
FROM scratch
ARG VERSION=0.1.0
ARG REVISION=unknown
COPY --from=build /image /
WORKDIR /app
USER 65532:65532
ENV NODE_ENV=production
ENV NODE_OPTIONS=--max-semi-space-size=1
ENV MALLOC_ARENA_MAX=1
LABEL org.opencontainers.image.title="Joulie"
LABEL org.opencontainers.image.description="The energy manager for Kubernetes clusters"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.source="https://github.com/joulie-project/joulie"
LABEL org.opencontainers.image.version="${VERSION}"
LABEL org.opencontainers.image.revision="${REVISION}"
ENTRYPOINT ["/usr/local/bin/node", "/app/joulie.mjs"]

import { join } from "node:path";
import { defineConfig } from "vite";

/** Builds the dashboard's page into dist/dashboard, where `joulie dashboard` finds it. */
export default defineConfig({
  root: import.meta.dirname,
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: join(import.meta.dirname, "../dist/dashboard"),
    emptyOutDir: true,
    target: "es2023",
    // Inline data would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8090" } },
});

export * from "./presets.ts";

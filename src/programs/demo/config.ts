import type * as z from "zod";
import { configOf, everyProgram } from "../../platform/config/index.ts";

export const demoConfig = configOf(everyProgram);

export type DemoConfig = z.output<typeof demoConfig>;

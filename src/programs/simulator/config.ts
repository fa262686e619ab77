import type * as z from "zod";
import { configOf, everyProgram } from "../../platform/config/index.ts";

export const simulatorConfig = configOf(everyProgram);

export type SimulatorConfig = z.output<typeof simulatorConfig>;

import * as z from "zod";
import { header } from "./metadata.ts";
import { type PowerTarget, powerTarget } from "./power-target.ts";
import { namedAfterNode, withRules } from "./rules.ts";

export const nodePowerProfileSchema = withRules(
  z.object({ ...header("NodePowerProfile"), spec: powerTarget() }),
  namedAfterNode,
);

export type NodePowerProfile = z.infer<typeof nodePowerProfileSchema>;
export type NodePowerProfileSpec = PowerTarget;

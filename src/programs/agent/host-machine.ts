import type { Clock } from "../../platform/clock/index.ts";
import type { AgentConfig } from "./config.ts";
import type { HostMachine } from "./host.ts";

export async function openHost(_config: AgentConfig, _clock: Clock): Promise<HostMachine> {
  throw new Error("not wired yet");
}

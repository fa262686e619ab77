// Variables of earlier versions. They have no effect; a program that finds one in its environment says what to do instead.

const EVERY = ["operator", "agent", "extender", "power", "dashboard", "fleet"] as const;
const CONSTANT = "its value is fixed now";
const INSECURE = "set ALLOW_INSECURE_TOKEN instead";

interface RemovedVariable {
  /** The programs that had it. */
  readonly programs: readonly (typeof EVERY)[number][];
  readonly instead: string;
}

const removedVariables: Readonly<Record<string, RemovedVariable>> = {
  AWAKE_AT_LEAST: { programs: ["power"], instead: `${CONSTANT}: 5m` },
  DASHBOARD_CLIENTS: { programs: ["dashboard"], instead: `${CONSTANT}: 64` },
  KUBE_ALLOW_INSECURE_TOKEN: { programs: EVERY, instead: INSECURE },
  PROMETHEUS_URL: { programs: ["dashboard"], instead: "set PROMETHEUS_ADDRESS instead" },
  SLEEP_SETTLE: { programs: ["power"], instead: `${CONSTANT}: 10s` },
  SWITCH_CONCURRENCY: { programs: ["power"], instead: `${CONSTANT}: 16` },
  SWITCH_POLL_INTERVAL: { programs: ["power"], instead: `${CONSTANT}: 10s` },
  SWITCH_REFRESH_INTERVAL: { programs: ["power"], instead: `${CONSTANT}: 5m` },
  SWITCH_TIMEOUT: { programs: ["power"], instead: `${CONSTANT}: 20s` },
  TELEMETRY_ALLOW_INSECURE_TOKEN: { programs: ["agent"], instead: INSECURE },
};

export const removedFrom = (program: string): string[] =>
  Object.keys(removedVariables).filter((name) => removedVariables[name]?.programs.some((own) => own === program));

/** Warnings about the variables in `environment` that the program had in an earlier version. */
export const removedVariableWarnings = (environment: readonly string[], program: string): string[] =>
  removedFrom(program)
    .filter((name) => environment.includes(name))
    .map((name) => `${name} is not a variable any more and has no effect: ${removedVariables[name]?.instead}`);

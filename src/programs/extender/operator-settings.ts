import { milliseconds, type RandomSource } from "../../core/units/index.ts";
import { type Clock, endsWithin, type Timer } from "../../platform/clock/index.ts";
import { type ParsedConfig, parseConfig, type SharedVariable, sharedVariables } from "../../platform/config/index.ts";
import { KubeClient, type OperatorState, OperatorStateWatch, type Transport } from "../../platform/kube/index.ts";
import type { Logger } from "../../platform/log/index.ts";
import { type ExtenderConfig, extenderConfig } from "./config.ts";

export type ConfigSources = ParsedConfig<unknown>["sources"];

export interface FollowOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Logger;
  readonly sources: ConfigSources;
}

/** How long a start waits for the operator's settings. Without them the extender begins with its defaults. */
const MAX_WAIT = milliseconds(5000);
/** Replicas that follow a change begin anew at different times within this span. */
const SPREAD = 30_000;

/** Runs an extender with the operator's settings where it has none of its own, and restarts it when they change. */
export async function followOperator(
  config: ExtenderConfig,
  options: FollowOptions,
  run: (config: ExtenderConfig, signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { transport, clock, random, log, sources } = options;
  const unset = sharedVariables.filter((name) => sources[name] !== "flag" && sources[name] !== "environment");
  if (unset.length === 0) return run(config, signal);
  const client = new KubeClient({ transport, clock, random, fieldManager: NAME, userAgent: NAME });
  let onChange = (): void => undefined;
  const namespace = config.POD_NAMESPACE;
  const watch = new OperatorStateWatch({ client, clock, random, log, namespace, onChange: () => onChange() });
  const reported = new Set<string>();
  const onInvalid = (problem: string) => {
    if (!reported.has(problem)) log.warn({ problem }, "cannot read the operator's settings");
    reported.add(problem);
  };
  const current = () => withSettings(config, unset, watch.state, onInvalid);
  watch.start();
  try {
    await endsWithin(clock, MAX_WAIT, watch.known(), signal);
    while (!signal.aborted) {
      const settings = current();
      const others = new AbortController();
      let timer: Timer | undefined;
      onChange = () => {
        // An object that was deleted says nothing, so the settings stay.
        const isMissing = sharedVariables.every((name) => watch.state[name] === undefined);
        if (isMissing || timer !== undefined || isSame(settings, current())) return;
        log.warn(
          { from: shown(settings), to: shown(current()) },
          "the operator's settings differ: beginning anew soon",
        );
        timer = clock.after(milliseconds(random.next() * SPREAD), () => {
          timer = undefined;
          if (!isSame(settings, current())) others.abort();
        });
      };
      await run(settings, AbortSignal.any([signal, others.signal])).finally(() => timer?.cancel());
    }
  } finally {
    await watch.stop();
  }
}

const NAME = "joulie-extender";

/** Leaves out what it cannot read, such as a value of a newer version, and two labels that are the same. */
function withSettings(
  config: ExtenderConfig,
  unset: readonly SharedVariable[],
  state: OperatorState,
  onInvalid: (problem: string) => void,
): ExtenderConfig {
  const read = (names: readonly SharedVariable[]): Partial<ExtenderConfig> => {
    const flags = Object.fromEntries(names.map((name) => [name, state[name]]));
    const parsed = parseConfig(extenderConfig, { env: {}, flags, machine: { isTerminal: false, exists: () => false } });
    if (parsed.ok) return Object.fromEntries(names.map((name) => [name, parsed.value.values[name]]));
    onInvalid(parsed.error.problems.map(({ message }) => message).join("; "));
    return {};
  };
  const published = unset.filter((name) => state[name] !== undefined);
  const settings: ExtenderConfig = Object.assign({}, config, ...published.map((name) => read([name])));
  if (settings.POWER_PROFILE_LABEL !== settings.DRAINING_LABEL) return settings;
  onInvalid("POWER_PROFILE_LABEL and DRAINING_LABEL are the same");
  const { POWER_PROFILE_LABEL, DRAINING_LABEL } = config;
  return { ...settings, POWER_PROFILE_LABEL, DRAINING_LABEL };
}

const shown = (config: ExtenderConfig) => Object.fromEntries(sharedVariables.map((name) => [name, config[name]]));

const isSame = (one: ExtenderConfig, other: ExtenderConfig): boolean =>
  sharedVariables.every((name) => one[name] === other[name]);

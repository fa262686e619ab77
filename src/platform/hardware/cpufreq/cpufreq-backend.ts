import {
  type FrequencyLimit,
  type Kilohertz,
  kilohertz,
  spreadThrottle,
  throttledCount,
  type WriteOutcome,
} from "../../../core/control/index.ts";
import { type Percent, percent } from "../../../core/units/index.ts";
import type { Clock } from "../../clock/index.ts";
import { errorText, writeErrorOutcome } from "../host/host-error.ts";
import { readBack } from "../host/host-values.ts";
import type { HostFiles, OriginalReading, ThrottleBackend } from "../port.ts";
import {
  CpufreqPolicy,
  combineFailures,
  type FrequencyChange,
  isOfflineError,
  isThermallyLimited,
  nameOf,
  type PolicyOriginal,
  parseCpufreqOriginals,
  readableMax,
  restoreChange,
  throttleChange,
} from "./cpufreq-policy.ts";

export interface CpufreqOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** DVFS_MIN_FREQ_KHZ. */
  readonly lowest: Kilohertz;
}

/** The frequencies of one policy, for metrics. */
export interface PolicyFrequency {
  /** The first CPU of its policy. */
  readonly cpu: number;
  readonly current?: Kilohertz | undefined;
  readonly max?: Kilohertz | undefined;
}

/** Throttles CPUs through the `scaling_max_freq` of their policies: a percentage of the policies, spread over the sockets. */
export class CpufreqBackend implements ThrottleBackend {
  readonly name = "dvfs";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #lowest: Kilohertz;
  /** The values before the first throttle, by policy. A policy without a recorded original is never written. */
  readonly #originals = new Map<number, PolicyOriginal>();
  /** Policies that are throttled, or may be since an earlier run: their current values are not their originals. */
  readonly #throttled = new Set<number>();
  /** The maximum that this run set, for each policy that it keeps throttled. */
  readonly #appliedMax = new Map<number, Kilohertz>();
  readonly #traitsById = new Map<number, CpufreqPolicy["traits"]>();

  constructor({ files, clock, lowest }: CpufreqOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#lowest = lowest;
  }

  async discover(): Promise<{ readonly absent?: string }> {
    const policies = CpufreqPolicy.all(this.#files);
    if (policies.length === 0) {
      return { absent: "cpufreq has no policies: virtual machines have none; on bare metal load the cpufreq driver" };
    }
    const online = policies.find(({ isOffline }) => !isOffline);
    if (online === undefined) return { absent: "the CPUs of every cpufreq policy are offline" };
    try {
      // Do not test by writing the value back: it may be another program's lower request, which would then outlive that program.
      online.checkWritable();
      return {};
    } catch (error) {
      return { absent: writeErrorOutcome(error, nameOf(online)).message };
    }
  }

  adoptOriginals(original: string): void {
    this.#adopt(parseCpufreqOriginals(original) ?? []);
  }

  /** Includes policies that appeared since the last call. A new policy is not throttled before it is recorded here. */
  async original(): Promise<OriginalReading> {
    let reason = "there are no policies";
    const untouched = CpufreqPolicy.all(this.#files).filter(({ id }) => !this.#throttled.has(id));
    if (untouched.length > 0 && isThermallyLimited(this.#files)) return { unreadable: COOLING_DOWN };
    for (const policy of untouched) {
      try {
        this.#originals.set(policy.id, policy.setting);
      } catch (error) {
        reason = `${nameOf(policy)}: ${errorText(error)}`;
      }
    }
    return this.#originals.size === 0
      ? { unreadable: `no cpufreq policy can be read: ${reason}` }
      : { original: JSON.stringify(Object.fromEntries(this.#originals)) };
  }

  async throttle(throttlePct: Percent, signal?: AbortSignal): Promise<WriteOutcome> {
    return this.#throttleBy(throttlePct, throttleChange, signal);
  }

  async relax(throttlePct: Percent, signal?: AbortSignal): Promise<WriteOutcome> {
    return this.#throttleBy(throttlePct, () => undefined, signal);
  }

  raisedByOthers(): string | undefined {
    const raised: string[] = [];
    for (const policy of CpufreqPolicy.all(this.#files)) {
      const applied = this.#appliedMax.get(policy.id);
      if (applied === undefined) continue;
      // A policy that was offline comes back without its limit: no other program raised it.
      if (policy.isOffline) this.#appliedMax.delete(policy.id);
      const now = policy.isOffline ? undefined : readableMax(policy);
      if (now !== undefined && now > applied) raised.push(`${nameOf(policy)} to ${now} kHz`);
    }
    const [first, ...others] = raised;
    return others.length === 0 ? first : `${first} and ${others.length} more`;
  }

  async restore(text: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const originals = parseCpufreqOriginals(text);
    if (originals === undefined)
      return { result: "error", message: `the recorded original holds no frequencies: ${text.slice(0, 80)}` };
    // An original that this run did not read is from an earlier run: its policy may be throttled, which shows only once it is online.
    this.#adopt([...originals].filter(([id]) => !this.#originals.has(id)));
    const policies = CpufreqPolicy.all(this.#files);
    const changes = policies
      .filter(({ isOffline }) => !isOffline)
      .map((policy) => {
        const original = originals.get(policy.id);
        return original && restoreChange(policy, original);
      });
    const outcome = await this.#apply(changes, signal);
    // Checked after the writes: a throttled policy may have gone offline meanwhile.
    const offline = policies.find(({ id, isOffline }) => isOffline && this.#throttled.has(id) && originals.has(id));
    const minima = this.#restoreMinima(policies, originals);
    const failed = [outcome, minima].find(({ result }) => result !== "applied");
    if (failed !== undefined) return failed;
    if (offline !== undefined)
      return { result: "blocked", message: `${nameOf(offline)} is offline: it stays throttled` };
    this.#originals.clear();
    this.#throttled.clear();
    this.#appliedMax.clear();
    this.#traitsById.clear();
    return { result: "applied" };
  }

  /** For metrics. Current frequencies are read one after the other off the event loop: each may take 20 ms. */
  async frequencies(withCurrent: boolean, signal?: AbortSignal): Promise<readonly PolicyFrequency[]> {
    const found: PolicyFrequency[] = [];
    for (const policy of CpufreqPolicy.all(this.#files)) {
      if (signal?.aborted) break;
      if (policy.isOffline) continue;
      const current = withCurrent ? await policy.current().catch(() => undefined) : undefined;
      found.push({ cpu: policy.id, current, max: readableMax(policy) });
    }
    return found;
  }

  /** `slow` makes the change for each policy that should be throttled. `relax` passes a function that makes none. */
  async #throttleBy(throttlePct: Percent, slow: typeof throttleChange, signal?: AbortSignal): Promise<WriteOutcome> {
    if (this.#originals.size === 0) await this.original();
    const known = CpufreqPolicy.all(this.#files).filter(({ id, isOffline }) => this.#originals.has(id) && !isOffline);
    if (known.length === 0) return { result: "blocked", message: "no cpufreq policy can be throttled" };
    const spread = known.map((policy) => ({ ...this.#traits(policy), originalMax: this.#originalMax(policy.id) }));
    const limits = spreadThrottle(spread, throttlePct, this.#lowest);
    const limitOf = new Map(limits.map((limit) => [limit.id, limit]));
    const floors = new Map(spreadThrottle(spread, percent(100), this.#lowest).map(({ id, max }) => [id, max]));
    const throttled = new Set(limits.filter(({ id, max }) => max < this.#originalMax(id)).map(({ id }) => id));
    // Policies that are released now no longer count as raised by another program.
    for (const id of this.#appliedMax.keys()) if (!throttled.has(id)) this.#appliedMax.delete(id);
    const changes = known.map((policy) => {
      const limit = limitOf.get(policy.id);
      const original = this.#originals.get(policy.id);
      if (limit === undefined || original === undefined) return undefined;
      if (throttled.has(policy.id)) return slow(policy, limit);
      // Neither throttled by Joulie nor at Joulie's floor: another program set this limit, so leave it.
      const isOurs = this.#throttled.has(policy.id) || readableMax(policy) === floors.get(policy.id);
      return isOurs ? restoreChange(policy, original) : undefined;
    });
    const outcome = await this.#apply(changes, signal);
    return outcome.result === "applied" ? withSaturation(limits, throttledCount(limits.length, throttlePct)) : outcome;
  }

  #adopt(originals: Iterable<readonly [number, PolicyOriginal]>): void {
    for (const [id, setting] of originals) {
      this.#originals.set(id, setting);
      this.#throttled.add(id);
    }
  }

  /** Read once: four files for each of hundreds of policies, one of which is often missing. */
  #traits(policy: CpufreqPolicy): CpufreqPolicy["traits"] {
    const known = this.#traitsById.get(policy.id) ?? policy.traits;
    this.#traitsById.set(policy.id, known);
    return known;
  }

  #originalMax(id: number): Kilohertz {
    return kilohertz(this.#originals.get(id)?.max ?? 0);
  }

  /** Makes all writes, then waits once for all of them to read back. A failing policy does not stop the others. */
  async #apply(
    changes: readonly (FrequencyChange | undefined)[],
    signal: AbortSignal | undefined,
  ): Promise<WriteOutcome> {
    const failures: WriteOutcome[] = [];
    const written: FrequencyChange[] = [];
    for (const change of changes.filter((one) => one !== undefined)) {
      const { policy, max } = change;
      try {
        policy.writeMax(max);
        if (max < this.#originalMax(policy.id)) this.#throttled.add(policy.id);
        written.push(change);
      } catch (error) {
        if (!isOfflineError(error)) failures.push(writeErrorOutcome(error, nameOf(policy)));
      }
    }
    const isMismatched = ({ policy, isReached }: FrequencyChange): boolean => {
      const read = readableMax(policy);
      return read !== undefined && !isReached(read);
    };
    try {
      const mismatched = await readBack(
        this.#clock,
        () => written.filter(isMismatched),
        ({ length }) => length === 0,
        signal,
      );
      for (const { policy, max } of mismatched) {
        const message = `${nameOf(policy)}: wrote ${max} kHz but read back ${readableMax(policy)} kHz`;
        failures.push({ result: "error", message: `${message}: another program sets it` });
      }
      for (const change of written) this.#remember(change, !mismatched.includes(change));
    } catch (error) {
      failures.push({ result: "error", message: `cpufreq: ${errorText(error)}` });
    }
    // `blocked` means that nothing was changed. After a partial write, something has to be restored later.
    const { result, message } = combineFailures(failures);
    return result === "blocked" && written.length > 0
      ? { result: "error", message: `partly applied: ${message}` }
      : combineFailures(failures);
  }

  #remember({ policy: { id }, max }: FrequencyChange, isReached: boolean): void {
    const isSlowed = max < this.#originalMax(id);
    if (!isSlowed) this.#throttled.delete(id);
    if (isSlowed && isReached) this.#appliedMax.set(id, max);
    else this.#appliedMax.delete(id);
  }

  #restoreMinima(policies: readonly CpufreqPolicy[], originals: ReadonlyMap<number, PolicyOriginal>): WriteOutcome {
    const failures: WriteOutcome[] = [];
    for (const policy of policies) {
      const original = originals.get(policy.id);
      try {
        // Newer kernels raise the minimum again with the maximum; older ones keep the lowered value.
        if (original !== undefined && policy.min !== original.min) policy.writeMin(original.min);
      } catch (error) {
        if (!isOfflineError(error)) failures.push(writeErrorOutcome(error, nameOf(policy)));
      }
    }
    return combineFailures(failures);
  }
}

const COOLING_DOWN =
  "the kernel is throttling CPUs because of temperature: their original maximum is unknown until that ends";

/** Reports policies without room between floor and maximum. If that is all of them, the throttle has no effect: `blocked`. */
function withSaturation(limits: readonly FrequencyLimit[], requested: number): WriteOutcome {
  const saturated = limits.filter((limit) => limit.saturated).length;
  if (saturated === 0) return { result: "applied" };
  const message = `${saturated} of ${requested} throttled cpufreq policies have no room between their floor and their maximum`;
  return { result: saturated === requested ? "blocked" : "applied", message };
}

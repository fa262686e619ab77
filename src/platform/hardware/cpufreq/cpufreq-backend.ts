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
import { errorText } from "../host/host-error.ts";
import { readBack } from "../host/read-back.ts";
import { writeErrorOutcome } from "../host/write-error.ts";
import type { HostFiles, OriginalReading, ThrottleBackend } from "../port.ts";
import { type PolicyOriginal, parseCpufreqOriginals } from "./cpufreq-original.ts";
import { CpufreqPolicy } from "./cpufreq-policy.ts";
import {
  combineFailures,
  type FrequencyChange,
  isOfflineError,
  nameOf,
  readableMax,
  restoreChange,
  throttleChange,
} from "./frequency-change.ts";
import { isThermallyLimited } from "./thermal-limit.ts";

export interface CpufreqOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  /** DVFS_MIN_FREQ_KHZ. */
  readonly lowest: Kilohertz;
}

/** What a policy is at, for metrics. */
export interface PolicyFrequency {
  /** The first CPU of its policy. */
  readonly cpu: number;
  readonly current?: Kilohertz | undefined;
  readonly max?: Kilohertz | undefined;
}

/** Throttles CPUs by their policies' `scaling_max_freq`: as many of them as a percentage says, spread over the sockets. */
export class CpufreqBackend implements ThrottleBackend {
  readonly name = "dvfs";
  readonly #files: HostFiles;
  readonly #clock: Clock;
  readonly #lowest: Kilohertz;
  /** What each policy was before its first throttle. One whose original nobody has asked for is not touched. */
  readonly #originals = new Map<number, PolicyOriginal>();
  /** Those that are throttled, or may be since an earlier run: what they read now is not what they were. */
  readonly #throttled = new Set<number>();
  /** What those that this run has slowed down, and holds so, read at most. */
  readonly #slowed = new Map<number, Kilohertz>();
  readonly #makeUps = new Map<number, CpufreqPolicy["traits"]>();

  constructor({ files, clock, lowest }: CpufreqOptions) {
    this.#files = files;
    this.#clock = clock;
    this.#lowest = lowest;
  }

  async discover(): Promise<{ readonly absent?: string }> {
    const policies = CpufreqPolicy.all(this.#files);
    if (policies.length === 0) {
      return { absent: "cpufreq has no policies: a virtual machine has none; on hardware load its cpufreq driver" };
    }
    const awake = policies.find(({ isOffline }) => !isOffline);
    if (awake === undefined) return { absent: "the CPUs of every cpufreq policy are offline" };
    try {
      // Not by writing back what it reads: that may be somebody else's lower request, which would become ours and outlive theirs.
      awake.checkWritable();
      return {};
    } catch (error) {
      return { absent: writeErrorOutcome(error, nameOf(awake)).message };
    }
  }

  adoptOriginals(original: string): void {
    this.#adopt(parseCpufreqOriginals(original) ?? []);
  }

  /** Policies that came since the last call are in it too: until then they are left alone. */
  async original(): Promise<OriginalReading> {
    let why = "there are no policies";
    const untouched = CpufreqPolicy.all(this.#files).filter(({ id }) => !this.#throttled.has(id));
    if (untouched.length > 0 && isThermallyLimited(this.#files)) return { unreadable: COOLING_DOWN };
    for (const policy of untouched) {
      try {
        this.#originals.set(policy.id, policy.setting);
      } catch (error) {
        why = `${nameOf(policy)}: ${errorText(error)}`;
      }
    }
    return this.#originals.size === 0
      ? { unreadable: `cpufreq has no policy that can be read: ${why}` }
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
      const ours = this.#slowed.get(policy.id);
      if (ours === undefined) continue;
      // One that was offline comes back without its limit: nobody's doing.
      if (policy.isOffline) this.#slowed.delete(policy.id);
      const now = policy.isOffline ? undefined : readableMax(policy);
      if (now !== undefined && now > ours) raised.push(`${nameOf(policy)} to ${now} kHz`);
    }
    const [first, ...others] = raised;
    return others.length === 0 ? first : `${first} and ${others.length} more`;
  }

  async restore(text: string, signal?: AbortSignal): Promise<WriteOutcome> {
    const originals = parseCpufreqOriginals(text);
    if (originals === undefined) return { result: "error", message: `no frequencies are in ${text.slice(0, 80)}` };
    // An original that this run has not read is an earlier run's: its policy may be throttled, which shows only once it is awake.
    this.#adopt([...originals].filter(([id]) => !this.#originals.has(id)));
    const policies = CpufreqPolicy.all(this.#files);
    const changes = policies
      .filter(({ isOffline }) => !isOffline)
      .map((policy) => {
        const original = originals.get(policy.id);
        return original && restoreChange(policy, original);
      });
    const outcome = await this.#carryOut(changes, signal);
    // After the writes: a policy may have gone offline since, with its throttle.
    const asleep = policies.find(({ id, isOffline }) => isOffline && this.#throttled.has(id) && originals.has(id));
    const minima = this.#restoreMinima(policies, originals);
    const failed = [outcome, minima].find(({ result }) => result !== "applied");
    if (failed !== undefined) return failed;
    if (asleep !== undefined) return { result: "blocked", message: `${nameOf(asleep)} is offline: it stays throttled` };
    this.#originals.clear();
    this.#throttled.clear();
    this.#slowed.clear();
    this.#makeUps.clear();
    return { result: "applied" };
  }

  /**
   * What each policy is at, for metrics. The current frequency is read only where asked for, one after the other and off the
   * event loop, as each may take 20 ms.
   */
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

  /** `slow` makes the change of each policy that is to be slow: none, where only others are let go of. */
  async #throttleBy(throttlePct: Percent, slow: typeof throttleChange, signal?: AbortSignal): Promise<WriteOutcome> {
    if (this.#originals.size === 0) await this.original();
    const known = CpufreqPolicy.all(this.#files).filter(({ id, isOffline }) => this.#originals.has(id) && !isOffline);
    if (known.length === 0) return { result: "blocked", message: "cpufreq has no policy that can be throttled" };
    const spread = known.map((policy) => ({ ...this.#makeUp(policy), originalMax: this.#originalMax(policy.id) }));
    const limits = spreadThrottle(spread, throttlePct, this.#lowest);
    const limitOf = new Map(limits.map((limit) => [limit.id, limit]));
    const floors = new Map(spreadThrottle(spread, percent(100), this.#lowest).map(({ id, max }) => [id, max]));
    const hit = new Set(limits.filter(({ id, max }) => max < this.#originalMax(id)).map(({ id }) => id));
    // Whoever makes faster what is let go of now undoes nothing, and it may need no write.
    for (const id of this.#slowed.keys()) if (!hit.has(id)) this.#slowed.delete(id);
    const changes = known.map((policy) => {
      const limit = limitOf.get(policy.id);
      const original = this.#originals.get(policy.id);
      if (limit === undefined || original === undefined) return undefined;
      if (hit.has(policy.id)) return slow(policy, limit);
      // Neither slowed by us nor at our floor: somebody else holds it, and it is theirs to let go.
      const isOurs = this.#throttled.has(policy.id) || readableMax(policy) === floors.get(policy.id);
      return isOurs ? restoreChange(policy, original) : undefined;
    });
    const outcome = await this.#carryOut(changes, signal);
    return outcome.result === "applied" ? withSaturation(limits, throttledCount(limits.length, throttlePct)) : outcome;
  }

  #adopt(originals: Iterable<readonly [number, PolicyOriginal]>): void {
    for (const [id, setting] of originals) {
      this.#originals.set(id, setting);
      this.#throttled.add(id);
    }
  }

  /** Four files for each of hundreds of policies, one of which is often missing: read once. */
  #makeUp(policy: CpufreqPolicy): CpufreqPolicy["traits"] {
    const known = this.#makeUps.get(policy.id) ?? policy.traits;
    this.#makeUps.set(policy.id, known);
    return known;
  }

  #originalMax(id: number): Kilohertz {
    return kilohertz(this.#originals.get(id)?.max ?? 0);
  }

  /** All writes first, then one wait for all of them to be read back. A policy that fails stops no other. */
  async #carryOut(
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
    const isAstray = ({ policy, isReached }: FrequencyChange): boolean => {
      const read = readableMax(policy);
      return read !== undefined && !isReached(read);
    };
    try {
      const astray = await readBack(
        this.#clock,
        () => written.filter(isAstray),
        ({ length }) => length === 0,
        signal,
      );
      for (const { policy, max } of astray) {
        const message = `${nameOf(policy)}: ${max} kHz was written and ${readableMax(policy)} kHz reads back`;
        failures.push({ result: "error", message: `${message}: something else sets it` });
      }
      for (const change of written) this.#remember(change, !astray.includes(change));
    } catch (error) {
      failures.push({ result: "error", message: `cpufreq: ${errorText(error)}` });
    }
    // Blocked means that nothing was changed; where something was, it has to be put back some day.
    const { result, message } = combineFailures(failures);
    return result === "blocked" && written.length > 0
      ? { result: "error", message: `in part only: ${message}` }
      : combineFailures(failures);
  }

  #remember({ policy: { id }, max }: FrequencyChange, isReached: boolean): void {
    const isSlowed = max < this.#originalMax(id);
    if (!isSlowed) this.#throttled.delete(id);
    if (isSlowed && isReached) this.#slowed.set(id, max);
    else this.#slowed.delete(id);
  }

  #restoreMinima(policies: readonly CpufreqPolicy[], originals: ReadonlyMap<number, PolicyOriginal>): WriteOutcome {
    const failures: WriteOutcome[] = [];
    for (const policy of policies) {
      const original = originals.get(policy.id);
      try {
        // Newer kernels let it rise again with the maximum; older ones leave it where it was put.
        if (original !== undefined && policy.min !== original.min) policy.writeMin(original.min);
      } catch (error) {
        if (!isOfflineError(error)) failures.push(writeErrorOutcome(error, nameOf(policy)));
      }
    }
    return combineFailures(failures);
  }
}

const COOLING_DOWN =
  "the kernel slows CPUs down for their temperature: what their maxima are otherwise cannot be told until that ends";

/** A throttle that has nowhere to go is told: where that is so everywhere, nothing is throttled, whatever was asked for. */
function withSaturation(limits: readonly FrequencyLimit[], asked: number): WriteOutcome {
  const idle = limits.filter(({ saturated }) => saturated).length;
  if (idle === 0) return { result: "applied" };
  const message = `${idle} of ${asked} throttled cpufreq policies have nothing between their floor and their maximum`;
  return { result: idle === asked ? "blocked" : "applied", message };
}

import {
  annotations,
  type CpuCap,
  type GpuPowerCap,
  labels,
  managedByOperator,
  type NodePowerProfile,
  type Profile,
} from "../../../core/api/index.ts";
import { ageText } from "../../../core/report/index.ts";
import { after, isoTime, type Milliseconds, milliseconds, percent, watts } from "../../../core/units/index.ts";
import { isApiError, type KubeObject, resources } from "../../../platform/kube/index.ts";
import { type ConsoleContext, ConsoleError, usageError } from "../context.ts";

export interface PinOptions {
  readonly node: string;
  readonly profile: Profile;
  /** `210W` or `60%`. */
  readonly cpuCap?: string;
  readonly gpuCap?: string | undefined;
  /** Absent: until it is removed. */
  readonly duration?: Milliseconds | undefined;
}

type ProfileObject = KubeObject & NodePowerProfile;
const CAP = /^(\d+(?:\.\d+)?)\s*(W|%)$/i;

/** A cap in watts or percent of the maximum. */
function capOf(flag: string, text: string): { readonly watts: number } | { readonly percent: number } {
  const [, number = "", unit] = CAP.exec(text) ?? [];
  const value = Number(number);
  if (unit === "%" && value > 0 && value <= 100) return { percent: value };
  if (unit !== undefined && unit !== "%" && value >= 1) return { watts: value };
  throw usageError(`${flag} ${text} is not a cap; write watts of 1 or more (210W) or percent of the maximum (60%)`);
}

function cpuCapOf(text: string | undefined): CpuCap | undefined {
  if (text === undefined) return undefined;
  const cap = capOf("--cpu-cap", text);
  return "watts" in cap
    ? { packagePowerCapWatts: watts(cap.watts) }
    : { packagePowerCapPctOfMax: percent(cap.percent) };
}

function gpuCapOf(text: string | undefined): GpuPowerCap | undefined {
  if (text === undefined) return undefined;
  const cap = capOf("--gpu-cap", text);
  return "watts" in cap ? { capWattsPerGpu: watts(cap.watts) } : { capPctOfMax: percent(cap.percent) };
}

export async function pinNode({ client, clock, skew }: ConsoleContext, options: PinOptions): Promise<string> {
  const { node: name, profile, duration } = options;
  const cpu = cpuCapOf(options.cpuCap);
  const powerCap = gpuCapOf(options.gpuCap);
  try {
    await client.get(resources.nodes, { name });
  } catch (error) {
    if (isApiError(error, "notFound")) throw new ConsoleError(`there is no node ${name}; joulie node lists all`);
    throw error;
  }
  const until = duration === undefined ? null : isoTime(after(clock.now(), duration));
  // A merge patch replaces an earlier pin whole: what is not asked for is removed.
  const patch = {
    metadata: { annotations: { [annotations.pinUntil]: until }, labels: { [labels.managedBy]: null } },
    spec: {
      nodeName: name,
      profile,
      cpu: cpu === undefined ? null : { packagePowerCapWatts: null, packagePowerCapPctOfMax: null, ...cpu },
      gpu: powerCap === undefined ? null : { powerCap: { capWattsPerGpu: null, capPctOfMax: null, ...powerCap } },
    },
  };
  try {
    await client.mergePatch(resources.nodePowerProfiles, { name }, patch);
  } catch (error) {
    if (!isApiError(error, "notFound")) throw error;
    await client.create(resources.nodePowerProfiles, {
      metadata: { name, ...(until !== null && { annotations: { [annotations.pinUntil]: until } }) },
      spec: { nodeName: name, profile, ...(cpu && { cpu }), ...(powerCap && { gpu: { powerCap } }) },
    });
  }
  const end = until === null ? `until joulie unpin ${name}` : `until ${until}${skewText(skew)}`;
  const patience = profile === "eco" ? "; eco caps wait until performance pods have ended" : "";
  return `nodepowerprofile/${name} pinned to ${profile} ${end}${patience}\n`;
}

const WORTH_TELLING = 30_000;

/** The end is in the API server's time, which operator and agents share; a user whose clock differs would misread it. */
const skewText = (skew: Milliseconds | undefined): string =>
  skew === undefined || Math.abs(skew) < WORTH_TELLING
    ? ""
    : ` by the API server's clock, which is ${ageText(milliseconds(Math.abs(skew)))} ${skew > 0 ? "ahead of" : "behind"} this machine's`;

export async function unpinNode({ client }: ConsoleContext, name: string): Promise<string> {
  let found: ProfileObject;
  try {
    found = await client.get<ProfileObject>(resources.nodePowerProfiles, { name });
  } catch (error) {
    if (isApiError(error, "notFound")) throw new ConsoleError(`node ${name} is not pinned`);
    throw error;
  }
  if (found.metadata.labels?.[labels.managedBy] === managedByOperator)
    throw new ConsoleError(`node ${name} is not pinned; its NodePowerProfile is the operator's mirror`);
  await client.delete(resources.nodePowerProfiles, { name }, { preconditions: { uid: found.metadata.uid ?? "" } });
  return `nodepowerprofile/${name} unpinned; the operator plans the node again\n`;
}

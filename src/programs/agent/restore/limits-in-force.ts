import type { PowerCapBackend } from "../../../platform/hardware/index.ts";
import type { HostMachine } from "../host/host.ts";

/** The limits in force on this machine, one line each. */
export async function limitsInForce(host: HostMachine): Promise<readonly string[]> {
  const caps = await Promise.all([...host.cpuCaps, host.gpu].map(limitsOf));
  const byMaximum = Map.groupBy(await host.frequencies(false), ({ maximum }) => maximum);
  const frequencies = Array.from(
    byMaximum,
    ([maximum, policies]) =>
      `${policies.length} at most ${maximum === undefined ? "? MHz" : `${Math.round(maximum / 1000)} MHz`}`,
  );
  return [...caps.flat(), ...(frequencies.length === 0 ? [] : [`cpufreq policies: ${frequencies.join(", ")}`])];
}

async function limitsOf(backend: PowerCapBackend): Promise<readonly string[]> {
  const { boards = [] } = await backend.discover();
  return Promise.all(
    boards.map(async ({ id, device, lost }) => {
      const { limit, unreadable } = lost === undefined ? await backend.limit(id) : { unreadable: lost };
      const formatted = limit === undefined ? `unknown: ${unreadable}` : `${limit} W`;
      return `${backend.name} ${id}: ${formatted}${device.max === undefined ? "" : ` of at most ${device.max} W`}`;
    }),
  );
}

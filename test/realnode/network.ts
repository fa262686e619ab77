// A network namespace that holds the whole node: bridges, iptables rules and Services stay inside and end with it.
import { run } from "./command.ts";

export interface Network {
  readonly name: string;
  /** Command prefix: what follows runs inside. Not `ip netns exec`, which hides the cgroup mounts from kubelet. */
  readonly enter: readonly string[];
  /** The node's address as pods see it. */
  readonly nodeAddress: string;
  /** The address at which this process reaches the programs inside. */
  readonly outerAddress: string;
  /** The address at which pods reach this process. */
  readonly hostAddress: string;
  remove(): Promise<void>;
}

const nodeAddress = "10.77.0.1";
export const podRange = "10.88.0.0/16";
export const serviceRange = "10.96.0.0/24";
/** The Service `kubernetes`. */
export const apiServiceAddress = "10.96.0.1";

export async function createNetwork(name: string): Promise<Network> {
  // Link-local, one network of four addresses per process id: several nodes may run at once.
  const link = `jl${process.pid}`;
  const third = process.pid % 250;
  const fourth = (Math.floor(process.pid / 250) % 64) * 4;
  const hostAddress = `169.254.${third}.${fourth + 1}`;
  const outerAddress = `169.254.${third}.${fourth + 2}`;
  const inside = [`--net=/var/run/netns/${name}`];
  const within = async (...command: string[]) => run("nsenter", [...inside, ...command]);
  const remove = async () => {
    await run("ip", ["link", "delete", link]).catch(() => undefined);
    await run("ip", ["netns", "delete", name]).catch(() => undefined);
  };
  try {
    await run("ip", ["netns", "add", name]);
    await run("ip", ["link", "add", link, "type", "veth", "peer", "name", "outer", "netns", name]);
    await run("ip", ["address", "add", `${hostAddress}/30`, "dev", link]);
    await run("ip", ["link", "set", link, "up"]);
    await within("ip", "link", "set", "lo", "up");
    await within("ip", "address", "add", `${outerAddress}/30`, "dev", "outer");
    await within("ip", "link", "set", "outer", "up");
    await within("ip", "link", "add", "node0", "type", "bridge");
    await within("ip", "address", "add", `${nodeAddress}/24`, "dev", "node0");
    await within("ip", "link", "set", "node0", "up");
    await within("ip", "route", "add", "default", "dev", "node0");
    await within("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward");
  } catch (error) {
    await remove();
    throw error;
  }
  return { name, enter: ["nsenter", ...inside], nodeAddress, outerAddress, hostAddress, remove };
}

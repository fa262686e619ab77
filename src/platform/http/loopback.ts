import { BlockList, isIPv4, isIPv6 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether an IP address is a loopback address, including `::ffff:127.0.0.1`. */
function isLoopbackAddress(address: string): boolean {
  if (isIPv4(address)) return loopback.check(address, "ipv4");
  return isIPv6(address) && loopback.check(address, "ipv6");
}

/** Whether the host of a URL or a Host header is loopback: an address or `localhost`. Names are not resolved. */
export const isLoopbackHost = (host: string): boolean =>
  host.toLowerCase() === "localhost" || isLoopbackAddress(host.replace(/^\[(.*)\]$/, "$1"));

/** Whether the network can read what is sent to this address, such as a password. */
export const sendsInTheClear = ({ protocol, hostname }: URL): boolean =>
  protocol !== "https:" && !isLoopbackHost(hostname);

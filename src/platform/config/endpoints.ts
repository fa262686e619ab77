import { BlockList, isIPv4, isIPv6 } from "node:net";
import { fail, ok, type Result } from "../../core/units/index.ts";
import { isLoopbackHost } from "../http/index.ts";
import { type VariableOptions, variable } from "./variable.ts";

/** A network range that a program may call. */
export type EndpointRange =
  /** Scheme, host and port; `{node}` in the host is replaced by the node's name. */
  | { readonly kind: "origin"; readonly origin: string }
  | { readonly kind: "network"; readonly address: string; readonly prefix: number; readonly family: "ipv4" | "ipv6" }
  | { readonly kind: "loopback" };

const NODE_PLACEHOLDER = "{node}";

/** The keywords for no endpoint and for this machine. */
const NONE = "none";
const LOOPBACK = "loopback";

export const endpointRanges = <const Options extends VariableOptions>(options: Options) =>
  variable<readonly EndpointRange[], Options>(
    {
      word: "origin,cidr…",
      allowed: `origins such as https://bmc.example:8443 ({node} in the host is replaced by the node's name), CIDRs such as 10.0.0.0/8, and ${LOOPBACK}, separated by commas; or ${NONE}`,
      read: (text) => (text === NONE ? ok([]) : readRanges(text.split(","))),
    },
    options,
  );

/**
 * The hosts in an annotation: as in a variable, and `bmc.example:8443` stands for `https://bmc.example:8443`. Undefined if one of
 * them cannot be read.
 */
export function hostRanges(text: string): readonly EndpointRange[] | undefined {
  const hosts = text.split(",").map((item) => item.trim());
  const ranges = readRanges(
    hosts.map((host) => (/^[^/]+$/.test(host) && host !== LOOPBACK ? `https://${host}` : host)),
  );
  return ranges.ok && ranges.value.every(isWithinZone) ? ranges.value : undefined;
}

/** Whether a dot and a zone follow each `{node}`. Otherwise a name such as `evil.example` makes any host of `https://{node}:8443`. */
export const isWithinZone = (range: EndpointRange): boolean =>
  range.kind !== "origin" || !/\{node\}(?!\.[\w{])/.test(range.origin);

function readRanges(items: readonly string[]): Result<readonly EndpointRange[], string> {
  const ranges: EndpointRange[] = [];
  for (const item of items) {
    const range = readRange(item.trim());
    if (!range.ok) return range;
    ranges.push(range.value);
  }
  return ok(ranges);
}

function readRange(item: string): Result<EndpointRange, string> {
  if (item === LOOPBACK) return ok({ kind: "loopback" });
  const [, bracketed, bare = bracketed ?? "", digits] = /^(?:\[([^\]]+)\]|([^/[\]]+))\/(\d{1,3})$/.exec(item) ?? [];
  if (digits !== undefined && (isIPv4(bare) || isIPv6(bare))) {
    const family = isIPv4(bare) ? "ipv4" : "ipv6";
    const prefix = Number(digits);
    if (prefix > (family === "ipv4" ? 32 : 128)) return fail(`has ${item}, whose prefix is too long`);
    return ok({ kind: "network", address: bare, prefix, family });
  }
  const origin = originOf(item);
  return origin !== undefined && isOnlyOrigin(item)
    ? ok({ kind: "origin", origin })
    : fail(`has ${JSON.stringify(item)}, which is neither an http or https origin nor a CIDR`);
}

/** Rejects a path, because paths are not checked. */
const isOnlyOrigin = (item: string): boolean => /^https?:\/\/[^/?#@\s]+\/?$/i.test(item);

/** A host name that replaces the placeholder, because URL would escape the braces. */
const STAND_IN = "joulie-node-stand-in";

/** Scheme, host and port of a URL, with `{node}` where the host contains it. */
export function originOf(template: string): string | undefined {
  const url = URL.parse(template.replaceAll(NODE_PLACEHOLDER, STAND_IN));
  if (url === null || !/^https?:$/.test(url.protocol) || /[{}]/.test(url.hostname)) return undefined;
  return url.origin.replaceAll(STAND_IN, NODE_PLACEHOLDER);
}

/** The default of an endpoint list: the origins of these URLs, and this machine if allowed. */
export function defaultRanges(urls: readonly (string | undefined)[], withLoopback: boolean): string {
  const origins = new Set(urls.flatMap((one) => (one === undefined ? [] : (originOf(one) ?? []))));
  return [...origins, ...(withLoopback ? [LOOPBACK] : [])].join(",") || NONE;
}

/** The endpoints in a list of ranges. Host names are not resolved: a CIDR contains IP addresses in URLs and never a host name. */
export class EndpointList {
  readonly #origins: readonly string[];
  readonly #networks = new BlockList();
  readonly #loopback: boolean;

  constructor(ranges: readonly EndpointRange[]) {
    this.#origins = ranges.flatMap((range) => (range.kind === "origin" ? range.origin : []));
    for (const range of ranges)
      if (range.kind === "network") this.#networks.addSubnet(range.address, range.prefix, range.family);
    this.#loopback = ranges.some(({ kind }) => kind === "loopback");
  }

  has(url: URL, node: string): boolean {
    return this.hasOrigin(url, node) || this.hasHost(url);
  }

  /** Whether an origin of the list is that of the URL. `{node}` in the list stands for `node` and for no other name. */
  hasOrigin({ origin }: URL, node: string): boolean {
    return this.#origins.some((listed) => {
      if (!listed.includes(NODE_PLACEHOLDER)) return listed === origin;
      return URL.parse(listed.replaceAll(NODE_PLACEHOLDER, () => encodeURIComponent(node)))?.origin === origin;
    });
  }

  /** Whether a CIDR or `loopback` of the list contains the host of the URL. */
  hasHost({ hostname }: URL): boolean {
    const address = hostname.replace(/^\[(.*)\]$/, "$1");
    if (this.#loopback && isLoopbackHost(hostname)) return true;
    if (isIPv4(address)) return this.#networks.check(address, "ipv4");
    return isIPv6(address) && this.#networks.check(address, "ipv6");
  }
}

import type {
  CpuControlMode,
  GpuControlMode,
  TelemetryProfile,
  TelemetryScope,
  TelemetrySource,
} from "../../../core/api/index.ts";
import { type Milliseconds, milliseconds } from "../../../core/units/index.ts";
import { type EndpointAccess, fillUrl, TelemetryError } from "../../../platform/telemetry/index.ts";

export type SourceRoute =
  | { readonly type: "none" | "host" }
  | { readonly type: "http"; readonly endpoint: string; readonly timeout: Milliseconds }
  | { readonly type: "prometheus"; readonly endpoint: string; readonly query: string; readonly timeout: Milliseconds }
  | UnusableRoute;

/** A route that cannot be used. The agent takes no other route instead. */
interface UnusableRoute {
  readonly type: "unusable";
  readonly why: string;
  /** No variable allows the endpoint. The status says so even if no reading is needed. */
  readonly notAllowed?: true;
}

export type ControlRoute<Mode extends string = CpuControlMode | GpuControlMode> =
  | { readonly type: "none" }
  | { readonly type: "host"; readonly mode: Mode }
  | { readonly type: "http"; readonly endpoint: string; readonly timeout: Milliseconds; readonly mode: Mode }
  | UnusableRoute;

export interface Route {
  readonly cpuSource: SourceRoute;
  readonly gpuSource: SourceRoute;
  readonly cpuControl: ControlRoute<CpuControlMode>;
  readonly gpuControl: ControlRoute<GpuControlMode>;
}

export interface RoutingSettings {
  readonly variables: Route;
  readonly timeout: Milliseconds;
  /** Which endpoints the agent may call: the authors of profiles are not trusted. */
  readonly access: EndpointAccess;
  readonly mayUseHost: boolean;
}

export interface Routing {
  readonly route: Route;
  /** The node's own profile; the agent reports in its status. */
  readonly nodeProfile: TelemetryProfile | undefined;
  /** Ignored profiles: an older profile has the same target. */
  readonly superseded: readonly { readonly profile: TelemetryProfile; readonly by: string }[];
}

const POOL_HAS_NO_HOST = "an agent in pool mode never touches its own host: give the node a route over http";

/** Its own profile, else the cluster's, else the variables, per subject. A named route that is unusable is blocked. */
export function routingOf(node: string, profiles: readonly TelemetryProfile[], settings: RoutingSettings): Routing {
  const own = byAge(profiles, "node", node);
  const cluster = byAge(profiles, "cluster", node);
  const specs = [own[0], cluster[0]].flatMap((profile) => (profile === undefined ? [] : [profile.spec]));
  const { variables } = settings;
  const source = (subject: "cpu" | "gpu", fallback: SourceRoute): SourceRoute => {
    const named = specs.map(({ sources }) => sources?.[subject]).find((one) => one !== undefined);
    return onlyAllowed(named === undefined ? fallback : sourceRoute(named, settings), node, settings);
  };
  const control = <Mode extends string>(
    named: readonly (ControlSpec<Mode> | undefined)[],
    fallback: ControlRoute<Mode | "auto">,
  ): ControlRoute<Mode | "auto"> => {
    const first = named.find((one) => one !== undefined);
    return onlyAllowed(first === undefined ? fallback : controlRoute(first, fallback, settings), node, settings);
  };
  return {
    route: {
      cpuSource: source("cpu", variables.cpuSource),
      gpuSource: source("gpu", variables.gpuSource),
      cpuControl: control(
        specs.map(({ controls }) => controls?.cpu),
        variables.cpuControl,
      ),
      gpuControl: control(
        specs.map(({ controls }) => controls?.gpu),
        variables.gpuControl,
      ),
    },
    nodeProfile: own[0],
    superseded: [own, cluster].flatMap(([first, ...others]) =>
      others.map((profile) => ({ profile, by: first?.metadata.name ?? "" })),
    ),
  };
}

function byAge(profiles: readonly TelemetryProfile[], scope: TelemetryScope, node: string): TelemetryProfile[] {
  return profiles
    .filter(({ spec: { target } }) => target.scope === scope && (scope === "cluster" || target.nodeName === node))
    .toSorted((a, b) => createdAt(a) - createdAt(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

const createdAt = ({ metadata }: TelemetryProfile): number => Date.parse(metadata.creationTimestamp ?? "") || 0;

function onlyAllowed<Way extends SourceRoute | ControlRoute>(
  way: Way,
  node: string,
  { mayUseHost, access }: RoutingSettings,
) {
  if (way.type === "host" && !mayUseHost) return unusable(POOL_HAS_NO_HOST);
  if (way.type !== "http" && way.type !== "prometheus") return way;
  const why = refusalOf(way.endpoint, node, access);
  return why === undefined ? way : ({ ...unusable(why), notAllowed: true } as const);
}

/** Checked after {node} is filled in, because it may be part of the host name. */
function refusalOf(endpoint: string, node: string, access: EndpointAccess): string | undefined {
  try {
    return access.of(fillUrl(endpoint, "{node}", node), node).refused;
  } catch (error) {
    if (error instanceof TelemetryError) return error.message;
    throw error;
  }
}

const timeoutOf = (http: { readonly timeoutSeconds?: number | undefined } | undefined, fallback: Milliseconds) =>
  http?.timeoutSeconds === undefined ? fallback : milliseconds(http.timeoutSeconds * 1000);

function sourceRoute({ type, http, prometheus }: TelemetrySource, { timeout }: RoutingSettings): SourceRoute {
  if (type === "http")
    return http?.endpoint === undefined
      ? unusable("the telemetry route has type http but no usable endpoint")
      : { type, endpoint: http.endpoint, timeout: timeoutOf(http, timeout) };
  if (type === "prometheus")
    return prometheus?.endpoint === undefined || prometheus.query === undefined
      ? unusable("the telemetry route has type prometheus but no usable endpoint and query")
      : { type, endpoint: prometheus.endpoint, query: prometheus.query, timeout };
  return { type };
}

interface ControlSpec<Mode extends string> {
  readonly type: "none" | "host" | "http";
  readonly http?:
    | {
        readonly endpoint?: string | undefined;
        readonly mode?: Mode | undefined;
        readonly timeoutSeconds?: number | undefined;
      }
    | undefined;
}

function controlRoute<Mode extends string>(
  { type, http }: ControlSpec<Mode>,
  fallback: ControlRoute<Mode | "auto">,
  { timeout }: RoutingSettings,
): ControlRoute<Mode | "auto"> {
  if (type === "http")
    return http?.endpoint === undefined
      ? unusable("the control route has type http but no usable endpoint")
      : { type, endpoint: http.endpoint, timeout: timeoutOf(http, timeout), mode: http.mode ?? "auto" };
  // A profile has no mode for the host, so the variable decides.
  return type === "host" ? { type, mode: "mode" in fallback ? fallback.mode : "auto" } : { type };
}

const unusable = (why: string) => ({ type: "unusable", why }) as const;

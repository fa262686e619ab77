import * as z from "zod";
import { gpuProductLabels, labels } from "../../core/api/index.ts";
import { policyTypes } from "../../core/policy/index.ts";
import { DEFAULT_ZONE_SHARE, sleepModes } from "../../core/sleep/index.ts";
import { percent, watts } from "../../core/units/index.ts";
import {
  address,
  choice,
  configOf,
  debugEndpoints,
  differ,
  drainingLabel,
  duration,
  everyProgram,
  flag,
  goesWith,
  group,
  hardwareCatalogPath,
  integer,
  json,
  labelKey,
  labelKeys,
  labelSelector,
  needs,
  notAbove,
  number,
  objectName,
  objectNames,
  path,
  percentage,
  powerProfileLabel,
  preset,
  quantity,
  quantityOrAuto,
  text,
  url,
} from "../../platform/config/index.ts";

const cap = z.number().positive().transform(watts);
const gpuModelCaps = z.record(
  z.string().min(1),
  z
    .strictObject({ minCapWatts: cap.optional(), maxCapWatts: cap })
    .refine(({ minCapWatts, maxCapWatts }) => (minCapWatts ?? 0) <= maxCapWatts, "minCapWatts is above maxCapWatts"),
);

const DEFAULT_PROMETHEUS = "http://prometheus-operated.monitoring:9090";
const METRIC = "a metric name or PromQL expression";
const zoneTemplate = (about: string) => text({ contains: "{zone}", allowed: `${METRIC} with {zone} in it`, about });

export const operatorConfig = configOf(
  {
    ...group("The operator", {
      PRESET: preset("operator"),
      RECONCILE_INTERVAL: duration({
        default: "1m",
        about: "How often plans are made; changes that matter come sooner.",
      }),
      METRICS_ADDR: address({ default: ":8081", about: "Where metrics, health and debug pages are served." }),
      DEBUG_ENDPOINTS: debugEndpoints(),
      LEASE_NAME: objectName({
        default: "joulie-operator",
        about: "The Lease by which one of several operators leads.",
      }),
      TWIN_HEARTBEAT: duration({
        default: "3m45s",
        about:
          "How often an unchanged NodeTwin is refreshed to show it is current. Leave a minute below TWIN_STALENESS_THRESHOLD for retries and a change of leader.",
      }),
      TWIN_STALENESS_THRESHOLD: duration({
        default: "5m",
        about:
          "Beyond it extenders take a NodeTwin for stale, unless they have a value of their own. TWIN_HEARTBEAT must be below it.",
      }),
      WRITE_NODE_POWER_PROFILES: flag({
        default: "false",
        about: "Mirror the operator's targets to NodePowerProfile objects for tools that read those.",
      }),
    }),
    ...group("Nodes and labels", {
      NODE_SELECTOR: labelSelector({
        default: `${labels.managed}=true`,
        about: "The nodes that Joulie manages. From all others its labels and objects are removed.",
      }),
      RESERVED_LABEL_KEY: labelKey({
        default: labels.reserved,
        about: "A node with this label set to true is left alone.",
      }),
      POWER_PROFILE_LABEL: powerProfileLabel(),
      DRAINING_LABEL: drainingLabel(),
      GPU_PRODUCT_LABEL_KEYS: labelKeys({
        default: gpuProductLabels.join(","),
        about: "Node labels that may name the GPU product; the first one present counts.",
      }),
      HARDWARE_CATALOG_PATH: hardwareCatalogPath(),
    }),
    ...group("Policy", {
      POLICY_TYPE: choice(policyTypes, {
        default: "static_partition",
        about: "The algorithm that decides which nodes are performance and which are eco.",
      }),
      STATIC_HP_FRAC: number({
        default: "0.5",
        min: 0,
        about: "static_partition: the share of nodes kept at performance; more than 1 means all of them.",
      }),
      QUEUE_HP_BASE_FRAC: number({
        default: "0.6",
        min: 0,
        about:
          "queue_aware_v1: the share of nodes kept at performance whatever the queue; more than 1 means all of them.",
      }),
      QUEUE_HP_MIN: integer({ default: "1", min: 0, about: "queue_aware_v1: the fewest performance nodes." }),
      QUEUE_HP_MAX: integer({ default: "1000000", min: 0, about: "queue_aware_v1: the most performance nodes." }),
      QUEUE_PERF_PER_HP_NODE: number({
        default: "10",
        above: 0,
        about: "queue_aware_v1: how many performance pods one performance node is expected to hold.",
      }),
      FIT_RESERVE: number({
        default: "0.9",
        min: 0,
        max: 1,
        about:
          "fit_aware_v1: the quantile of performance pods that arrive within a promotion time for which room is kept on performance nodes.",
      }),
      PROFILE_MIN_DWELL: duration({
        default: "5m",
        orZero: "no minimum",
        about: "All policies but rule_swap_v1: how long a promoted node keeps the performance profile at least.",
      }),
      DRAINING_CAPS: choice(["performance", "eco"], {
        default: "performance",
        about: "The caps of a draining node while performance pods remain on it.",
      }),
    }),
    ...group("Sleep", {
      SLEEP_MODE: choice(sleepModes, {
        default: "off",
        about:
          "Whether idle nodes with joulie.io/may-sleep=true are switched off; recommend publishes the decisions as Events only.",
      }),
      SLEEP_SCHEDULERS: objectNames({
        about:
          "The schedulers whose pods wake nodes, by spec.schedulerName. Unset: all. List yours if another one waits for something else than nodes.",
      }),
      SLEEP_AFTER: duration({
        default: "10m",
        about: "How long a node must have been empty before it sleeps.",
      }),
      SLEEP_RESERVE_QUANTILE: number({
        default: "0.99",
        min: 0,
        max: 1,
        about:
          "Awake nodes keep room for this quantile of the pods that arrived during one wake time in the last day, for pods with and without GPUs apart.",
      }),
      SLEEP_ZONE_SHARE: number({
        default: String(DEFAULT_ZONE_SHARE),
        above: 0,
        max: 1,
        about:
          "The share of a zone's nodes that may be asleep or not ready. Keep it below --unhealthy-zone-threshold of kube-controller-manager, which is 0.55 by default.",
      }),
    }),
    ...group("Power caps", {
      CPU_WRITE_ABSOLUTE_CAPS: flag({
        default: "false",
        about: "Write CPU caps in watts per package instead of percent.",
      }),
      PERFORMANCE_CAP_WATTS: quantity(watts, {
        default: "5000",
        min: 1,
        about: "The CPU cap of performance nodes, in watts.",
      }),
      ECO_CAP_WATTS: quantity(watts, { default: "120", min: 1, about: "The CPU cap of eco nodes, in watts." }),
      CPU_PERFORMANCE_CAP_PCT_OF_MAX: percentage({
        default: "100",
        about: "The CPU cap of performance nodes, in percent of the maximum.",
      }),
      CPU_ECO_CAP_PCT_OF_MAX: percentage({
        default: "60",
        about: "The CPU cap of eco nodes, in percent of the maximum.",
      }),
      ECO_MAX_SLOWDOWN_PCT: quantity(percent, {
        above: 0,
        max: 100,
        about:
          "Choose each model's eco caps so that no work takes longer by more than this percentage, and by half of it while pods wait; unset = the eco percentages and watts of this group.",
      }),
      ECO_CLOCK_SHARE: number({
        default: "1",
        above: 0,
        max: 1,
        about:
          "With ECO_MAX_SLOWDOWN_PCT: the share of the run time of standard pods that follows the clock. Within the bound, eco caps are those of the least energy for such work; 1 = compute-bound.",
      }),
      CPU_CAP_GPU_NODES: flag({ default: "true", about: "Cap the CPUs of nodes with GPUs as well." }),
      GPU_WRITE_ABSOLUTE_CAPS: flag({
        default: "false",
        about: "Add watts per GPU to the percentage where the model's maximum is known.",
      }),
      GPU_PERFORMANCE_CAP_PCT_OF_MAX: percentage({
        default: "100",
        about: "The GPU cap of performance nodes, in percent of the maximum.",
      }),
      GPU_ECO_CAP_PCT_OF_MAX: percentage({
        default: "60",
        about: "The GPU cap of eco nodes, in percent of the maximum.",
      }),
      GPU_MODEL_CAPS_JSON: json(gpuModelCaps, {
        default: "{}",
        allowed: 'JSON such as {"NVIDIA-H100-80GB-HBM3":{"minCapWatts":200,"maxCapWatts":700}}',
        about: "The watts each GPU product can be capped to, where the catalogue does not know better.",
      }),
    }),
    ...group("Node power", {
      OPERATOR_NODE_POWER_SOURCE: choice(["auto", "static", "utilization", "http", "prometheus"], {
        default: "auto",
        about:
          "Where a node's power comes from; auto takes the agent's reading, else that of Kepler if PROMETHEUS_ADDRESS is set, else utilization, else a static estimate.",
      }),
      OPERATOR_NODE_POWER_HTTP_ENDPOINT: url({
        placeholder: "{node}",
        about: "The URL of a node's readings for the source http.",
      }),
      PROMETHEUS_ADDRESS: url({
        about: "The Prometheus server for node power and facility metrics, where no variable of theirs names another.",
      }),
      OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS: url({
        about: "The Prometheus server for the sources prometheus and auto; unset = PROMETHEUS_ADDRESS.",
      }),
      OPERATOR_NODE_POWER_PROMETHEUS_QUERY: text({
        allowed: "a PromQL expression",
        about:
          "One query that gives the watts of every node, of what the label joulie_covers says; unset = Kepler's series.",
      }),
      COOLING_MODEL: choice(["linear", "table"], {
        default: "linear",
        about: "How cooling stress follows from power and temperature: by a formula, or by COOLING_TABLE.",
      }),
      COOLING_TABLE: path({
        about: "A CSV file with the columns nodePowerW, ambientC and stress, for COOLING_MODEL=table.",
      }),
      REFERENCE_NODE_POWER_W: quantityOrAuto(watts, {
        default: "4000",
        above: 0,
        about:
          "The node power, in watts, that counts as full load in cooling stress; auto = the rated power of each node, the most that it draws uncapped.",
      }),
      REFERENCE_RACK_CAPACITY_W: quantity(watts, {
        default: "50000",
        above: 0,
        about: "The watts a rack's power supply can give, against which PSU stress is measured.",
      }),
    }),
    ...group("Facility", {
      ENABLE_FACILITY_METRICS: flag({
        default: "false",
        about: "Read ambient temperature, IT power and cooling power from Prometheus.",
      }),
      FACILITY_PROMETHEUS_ADDRESS: url({
        derived: {
          text: `PROMETHEUS_ADDRESS, or ${DEFAULT_PROMETHEUS} without one`,
          from: (texts) => texts["PROMETHEUS_ADDRESS"] ?? DEFAULT_PROMETHEUS,
        },
        about: "The Prometheus server with the facility's metrics.",
      }),
      FACILITY_POLL_INTERVAL: duration({ default: "30s", about: "How often facility metrics are read." }),
      FACILITY_AMBIENT_TEMP_METRIC: text({
        default: "datacenter_ambient_temperature_celsius",
        allowed: METRIC,
        about: "The site's ambient temperature, in °C.",
      }),
      FACILITY_IT_POWER_METRIC: text({
        default: "datacenter_total_it_power_watts",
        allowed: METRIC,
        about: "The site's IT power, in watts.",
      }),
      FACILITY_COOLING_POWER_METRIC: text({
        default: "datacenter_cooling_power_watts",
        allowed: METRIC,
        about: "The site's cooling power, in watts.",
      }),
      FACILITY_ZONE_AMBIENT_METRIC_TEMPLATE: zoneTemplate("The ambient temperature of a cooling zone, in °C."),
      FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE: zoneTemplate(
        "The IT power of a cooling zone, in watts, for a PUE per zone.",
      ),
      FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE: zoneTemplate(
        "The cooling power of a cooling zone, in watts, for a PUE per zone.",
      ),
      FACILITY_RACK_POWER_METRIC_TEMPLATE: text({
        contains: "{rack}",
        allowed: `${METRIC} with {rack} in it`,
        about: "The power of a rack, in watts; it replaces the sum of its nodes in PSU stress.",
      }),
    }),
    ...everyProgram,
  },
  [
    notAbove("QUEUE_HP_MIN", "QUEUE_HP_MAX"),
    notAbove("CPU_ECO_CAP_PCT_OF_MAX", "CPU_PERFORMANCE_CAP_PCT_OF_MAX"),
    notAbove("GPU_ECO_CAP_PCT_OF_MAX", "GPU_PERFORMANCE_CAP_PCT_OF_MAX"),
    {
      reads: ["ECO_CAP_WATTS", "PERFORMANCE_CAP_WATTS", "CPU_WRITE_ABSOLUTE_CAPS"],
      holds: (config) => !config.CPU_WRITE_ABSOLUTE_CAPS || config.ECO_CAP_WATTS <= config.PERFORMANCE_CAP_WATTS,
      problem: "is above {PERFORMANCE_CAP_WATTS}",
      allowed: "at most PERFORMANCE_CAP_WATTS",
    },
    {
      reads: ["TWIN_HEARTBEAT", "TWIN_STALENESS_THRESHOLD"],
      holds: (config) => config.TWIN_HEARTBEAT < config.TWIN_STALENESS_THRESHOLD,
      problem: "is not below {TWIN_STALENESS_THRESHOLD}: the extenders would take every quiet node's twin for stale",
      allowed: "less than TWIN_STALENESS_THRESHOLD, which has to be what the extenders are set to",
    },
    differ("DRAINING_LABEL", "POWER_PROFILE_LABEL"),
    differ("RESERVED_LABEL_KEY", "POWER_PROFILE_LABEL"),
    differ("RESERVED_LABEL_KEY", "DRAINING_LABEL"),
    needs("COOLING_MODEL", "table", "COOLING_TABLE"),
    needs("OPERATOR_NODE_POWER_SOURCE", "http", "OPERATOR_NODE_POWER_HTTP_ENDPOINT"),
    {
      reads: ["OPERATOR_NODE_POWER_SOURCE", "OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS", "PROMETHEUS_ADDRESS"],
      holds: (config) =>
        config.OPERATOR_NODE_POWER_SOURCE !== "prometheus" || nodePowerPrometheus(config) !== undefined,
      problem: "needs {PROMETHEUS_ADDRESS}",
      allowed: "OPERATOR_NODE_POWER_SOURCE=prometheus with PROMETHEUS_ADDRESS set",
    },
    // A PUE per zone needs both. With only one, the PUE of the site would silently replace it.
    goesWith("FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE", "FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE"),
    goesWith("FACILITY_ZONE_COOLING_POWER_METRIC_TEMPLATE", "FACILITY_ZONE_IT_POWER_METRIC_TEMPLATE"),
  ],
);

export type OperatorConfig = z.output<typeof operatorConfig>;

/** The Prometheus server with the power of nodes. */
export function nodePowerPrometheus(config: {
  readonly OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS?: string | undefined;
  readonly PROMETHEUS_ADDRESS?: string | undefined;
}): string | undefined {
  return config.OPERATOR_NODE_POWER_PROMETHEUS_ADDRESS ?? config.PROMETHEUS_ADDRESS;
}

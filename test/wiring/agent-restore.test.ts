import { restoreConfig } from "../../src/programs/agent/config.ts";
import { HERE, hereOnly, THERE } from "./agent-on-host.ts";
import { restored, SERVICE } from "./agent-restore.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const trusted = { ...hereOnly, TELEMETRY_HTTP_CA_FILE: `${HERE}/ca.crt` };
const allowed = { ...trusted, TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: `${SERVICE}/control/{node}` };
const usual = {
  beside: hereOnly,
  observe: restored,
  byDefault: {
    rapl: ": restored",
    "a http": "not an allowed endpoint",
    gpu: 'no GPU "GPU-1" on this node',
    limits: [350, 0],
  },
};
const endpoint = {
  ...usual,
  beside: trusted,
  value: `${SERVICE}/control/{node}`,
  changed: { "a http": ": restored" },
};

const table: VariableTable = {
  HOST_SYS_ROOT: { ...usual, value: `${THERE}/sys`, changed: { limits: [0, 350] } },
  // The boot id has changed, so the firmware has reset the package, and the command does not restore it.
  HOST_PROC_ROOT: { ...usual, value: `${THERE}/proc`, changed: { limits: [210, 0] } },
  NVML_LIBRARY: {
    ...usual,
    value: `${THERE}/libnvidia-ml.so`,
    changed: { gpu: `NVML library ${THERE}/libnvidia-ml.so` },
  },
  STATE_DIR: [
    {
      ...usual,
      value: `${THERE}/state`,
      changed: {
        "": `an agent is running with STATE_DIR=${THERE}/state: stop it first; it restores its limits when it stops (JOULIE_E_STATE_DIR)`,
      },
    },
    { ...usual, value: `${THERE}/kept`, changed: { gpu: 'no GPU "GPU-1" on this node', limits: [210, 0] } },
    {
      ...usual,
      value: `${THERE}/empty`,
      changed: { "": `nothing to restore: no original limit is stored in ${THERE}/empty` },
    },
  ],
  // A pool agent may call services on loopback without extra permission.
  AGENT_MODE: { ...endpoint, value: "pool" },
  TELEMETRY_CPU_HTTP_ENDPOINT: endpoint,
  TELEMETRY_CPU_CONTROL_HTTP_ENDPOINT: endpoint,
  TELEMETRY_GPU_HTTP_ENDPOINT: endpoint,
  TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: endpoint,
  TELEMETRY_ALLOWED_ENDPOINTS: { ...endpoint, value: SERVICE },
  TELEMETRY_HTTP_TOKEN_FILE: {
    ...usual,
    value: `${HERE}/token`,
    beside: allowed,
    byDefault: { authorizations: [undefined] },
    changed: { authorizations: ["Bearer s3cret"] },
  },
  ALLOW_INSECURE_TOKEN: {
    ...usual,
    value: "true",
    beside: {
      ...hereOnly,
      TELEMETRY_HTTP_TOKEN_FILE: `${HERE}/token`,
      TELEMETRY_ALLOWED_ENDPOINTS: "http://service.invalid",
    },
    byDefault: { "b http": "unencrypted" },
    changed: { "b http": "no response" },
  },
  TELEMETRY_HTTP_CA_FILE: {
    ...usual,
    value: `${HERE}/ca.crt`,
    beside: { ...hereOnly, TELEMETRY_GPU_CONTROL_HTTP_ENDPOINT: `${SERVICE}/control/{node}` },
    byDefault: { "a http": "no response" },
    changed: { "a http": ": restored" },
  },
};

describeVariables("agent restore", restoreConfig, table);

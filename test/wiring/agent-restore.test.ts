import { restoreConfig } from "../../src/programs/agent/config.ts";
import { HERE, hereOnly, THERE } from "./agent-on-host.ts";
import { restored } from "./agent-restore.ts";
import { describeVariables, type VariableTable } from "./variable-table.ts";

const LEFT = "2 of 3 are not restored; they stay in the journal, so that this can be tried again";
const NO_GPU = 'gpu GPU-1: not restored: no GPU "GPU-1" is known';
const NO_ANSWER = "a http packages: not restored: POST https://service/control/a";
const RESTORED = "rapl package-0: restored";
const usual = {
  beside: hereOnly,
  observe: restored,
  byDefault: { said: [RESTORED, NO_ANSWER, NO_GPU, LEFT], limits: [350, 0] },
};

const table: VariableTable = {
  HOST_SYS_ROOT: { ...usual, value: `${THERE}/sys`, changed: { limits: [0, 350] } },
  // By its boot id the firmware has set the package anew since: it is left alone.
  HOST_PROC_ROOT: { ...usual, value: `${THERE}/proc`, changed: { limits: [210, 0] } },
  NVML_LIBRARY: {
    ...usual,
    value: `${THERE}/libnvidia-ml.so`,
    changed: { said: [RESTORED, NO_ANSWER, `${NO_GPU} NVML's library ${THERE}/libnvidia-ml.so`, LEFT] },
  },
  STATE_DIR: [
    {
      ...usual,
      value: `${THERE}/state`,
      changed: {
        said: [
          `an agent is running with STATE_DIR=${THERE}/state: stop it first; what it has set it then restores by itself`,
        ],
      },
    },
    { ...usual, value: `${THERE}/kept`, changed: { said: [NO_GPU, LEFT.replace("2 of 3", "1 of 1")] } },
    {
      ...usual,
      value: `${THERE}/empty`,
      changed: { said: [`nothing to restore: no original limit is kept in ${THERE}/empty`] },
    },
  ],
  TELEMETRY_HTTP_TOKEN_FILE: {
    ...usual,
    value: `${HERE}/token`,
    beside: { ...hereOnly, TELEMETRY_HTTP_CA_FILE: `${HERE}/ca.crt` },
    byDefault: { authorizations: [undefined] },
    changed: { authorizations: ["Bearer s3cret"] },
  },
  TELEMETRY_HTTP_CA_FILE: {
    ...usual,
    value: `${HERE}/ca.crt`,
    changed: { said: [RESTORED, "a http packages: restored", NO_GPU, LEFT.replace("2 of 3", "1 of 3")] },
  },
};

describeVariables("agent restore", restoreConfig, table);

import type { ProfileControlReport, TwinControlReport } from "../../../core/api/index.ts";
import { isoTime } from "../../../core/units/index.ts";
import type { DeviceStatus, NodeStatus } from "./node-status.ts";

const outcome = ({ backend, result, message }: DeviceStatus, { at }: NodeStatus) => ({
  backend,
  result,
  message,
  updatedAt: isoTime(at),
});

/** What the agent reports about a device in the NodeTwin. */
export const twinReport = (device: DeviceStatus, status: NodeStatus): TwinControlReport => ({
  ...outcome(device, status),
  ...(device.power !== undefined && { observedPowerWatts: device.power }),
});

/** The report as a merge patch. It names a missing power, because a merge patch keeps what it does not name. */
export const reportPatch = (report: TwinControlReport) => ({ observedPowerWatts: null, ...report });

/** What the agent reports about a device in the TelemetryProfile. */
export const profileReport = (device: DeviceStatus, status: NodeStatus): ProfileControlReport => ({
  ...outcome(device, status),
  observed: {
    ...(device.power !== undefined && { powerWatts: device.power }),
    ...(device.cap !== undefined && { capWatts: device.cap }),
    ...(device.throttlePct !== undefined && { throttlePct: device.throttlePct }),
  },
});

export { HttpCaps, type HttpDevices } from "./http-caps.ts";
export { HttpControl, type HttpEndpoint } from "./http-control.ts";
export { type HttpReading, readTelemetry } from "./http-readings.ts";
export { HttpThrottle } from "./http-throttle.ts";
export type {
  BackendView,
  BoardPower,
  CapBoard,
  DeviceKind,
  EnergyMeter,
  EnergyZoneSample,
  HostFiles,
  LimitReading,
  OriginalReading,
  PowerCapBackend,
  ThrottleBackend,
} from "./port.ts";

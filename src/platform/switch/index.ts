export { type BareMetalHost, bareMetalHosts, Metal3Switch } from "./metal3-switch.ts";
export {
  type ConfirmSwitching,
  type MachineFacts,
  type PowerSwitch,
  PowerSwitchError,
  type PowerSwitchErrorKind,
} from "./power-switch.ts";
export { isHostOf } from "./provider-id.ts";
export { RedfishSwitch, redfishUrl } from "./redfish-switch.ts";
export { isSameSystem } from "./system-uuid.ts";
export { WebhookSwitch, webhookUrl } from "./webhook-switch.ts";

export { type BareMetalHost, bareMetalHosts, Metal3Switch, type Metal3SwitchOptions } from "./metal3-switch.ts";
export {
  type ConfirmSwitching,
  type MachineFacts,
  type PowerSwitch,
  PowerSwitchError,
  type PowerSwitchErrorKind,
} from "./power-switch.ts";
export { isHostOf } from "./provider-id.ts";
export {
  type RedfishCredentials,
  RedfishSwitch,
  type RedfishSwitchOptions,
  redfishUrl,
} from "./redfish-switch.ts";
export { isSameSystem } from "./system-uuid.ts";
export { WebhookSwitch, type WebhookSwitchOptions, webhookUrl } from "./webhook-switch.ts";

export { Metal3Switch, type Metal3SwitchOptions } from "./metal3-switch.ts";
export { type MachineFacts, type PowerSwitch, PowerSwitchError, type PowerSwitchErrorKind } from "./power-switch.ts";
export { type RedfishCredentials, RedfishSwitch, type RedfishSwitchOptions } from "./redfish/redfish-switch.ts";
export { isSameSystem } from "./system-uuid.ts";
export { WebhookSwitch, type WebhookSwitchOptions } from "./webhook-switch.ts";

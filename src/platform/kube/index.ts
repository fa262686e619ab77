export { FileValue } from "./auth/file-value.ts";
export type { Identity } from "./auth/identity.ts";
export { loadIdentity } from "./auth/load-identity.ts";
export { TokenAuthorizer, type TokenVerdict, tokenReviewRules } from "./auth/token-authorizer.ts";
export { CallLimit } from "./client/call-limit.ts";
export type { Manifest, Selection } from "./client/call-types.ts";
export type { CallOptions } from "./client/caller.ts";
export { KubeClient } from "./client/client.ts";
export { clockSkewOf, ServerTime } from "./client/clock-skew.ts";
export { ApiError, type ApiErrorKind, isApiError, plainReason } from "./client/errors.ts";
export { HttpTransport } from "./client/http-transport.ts";
export type { KubeIo } from "./client/kube-io.ts";
export { type KubeObject, keyOf, type ObjectName } from "./client/object.ts";
export {
  missingDefinition,
  type PermissionRule,
  type Resource,
  remedyOfMissingDefinition,
  resources,
} from "./client/resources.ts";
export type { ApiRequest, ApiResponse, Transport } from "./client/transport.ts";
export type { EventNote } from "./events/event-recorder.ts";
export { EventRecorder } from "./events/event-recorder.ts";
export { LeaderElector } from "./leader/leader-elector.ts";
export { type Lease, microTime } from "./leader/lease.ts";
export type { Change, StoreView } from "./watch/object-store.ts";
export { type OperatorState, OperatorStateWatch, operatorStateRule } from "./watch/operator-state.ts";
export { Reflector, type ReflectorOptions, unreadOf } from "./watch/reflector.ts";
export { comesAfter } from "./watch/resource-version.ts";
export { StopSwitch, stoppedBy, stopSwitchRule } from "./watch/stop-switch.ts";
export { WorkQueue } from "./watch/work-queue.ts";

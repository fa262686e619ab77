export { FileValue } from "./auth/file-value.ts";
export type { Identity, TlsMaterial } from "./auth/identity.ts";
export { type IdentityOptions, loadIdentity } from "./auth/load-identity.ts";
export {
  TokenAuthorizer,
  type TokenAuthorizerOptions,
  type TokenVerdict,
  tokenReviewRules,
} from "./auth/token-authorizer.ts";
export { CallLimit } from "./client/call-limit.ts";
export type {
  DeleteOptions,
  ListQuery,
  Manifest,
  Selection,
  WatchQuery,
  WriteOptions,
} from "./client/call-types.ts";
export type { CallOptions } from "./client/caller.ts";
export { KubeClient, type KubeClientOptions } from "./client/client.ts";
export { clockSkewOf, ServerTime } from "./client/clock-skew.ts";
export { ApiError, type ApiErrorKind, isApiError, plainReason } from "./client/errors.ts";
export { HttpTransport, type HttpTransportOptions } from "./client/http-transport.ts";
export type { KubeIo } from "./client/kube-io.ts";
export { type KubeMetadata, type KubeObject, keyOf, type ObjectName } from "./client/object.ts";
export type { ListPage } from "./client/pages.ts";
export {
  apiVersionOf,
  missingDefinition,
  type PermissionRule,
  pathOf,
  type Resource,
  remedyOfMissingDefinition,
  resources,
} from "./client/resources.ts";
export type { ApiRequest, ApiResponse, Transport } from "./client/transport.ts";
export type { EventNote, EventSubject } from "./events/event-recorder.ts";
export { EventRecorder, type EventRecorderOptions } from "./events/event-recorder.ts";
export { LeaderElector, type LeaderElectorOptions } from "./leader/leader-elector.ts";
export { type Lease, microTime } from "./leader/lease.ts";
export type { Change, ChangeListener, IndexFunctions, StoreView } from "./watch/object-store.ts";
export {
  type OperatorState,
  OperatorStateWatch,
  type OperatorStateWatchOptions,
  operatorStateRule,
} from "./watch/operator-state.ts";
export { Reflector, type ReflectorOptions, unreadOf } from "./watch/reflector.ts";
export { comesAfter } from "./watch/resource-version.ts";
export { StopSwitch, type StopSwitchOptions, stoppedBy, stopSwitchRule } from "./watch/stop-switch.ts";
export type { WatchEvent } from "./watch/watch-events.ts";
export { WorkQueue, type WorkQueueOptions } from "./watch/work-queue.ts";

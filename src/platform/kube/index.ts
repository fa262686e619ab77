export type {
  DeleteOptions,
  JsonPatchOperation,
  ListQuery,
  Manifest,
  Selection,
  WatchQuery,
  WriteOptions,
} from "./call-types.ts";
export type { CallOptions } from "./caller.ts";
export { KubeClient, type KubeClientOptions } from "./client.ts";
export { ApiError, type ApiErrorKind, isApiError } from "./errors.ts";
export type { EventNote, EventSubject } from "./event-object.ts";
export { EventRecorder, type EventRecorderOptions } from "./events.ts";
export { FileValue } from "./file-value.ts";
export { HttpTransport, type HttpTransportOptions } from "./http-transport.ts";
export type { Identity, TlsMaterial } from "./identity.ts";
export { LeaderElector, type LeaderElectorOptions } from "./leader-elector.ts";
export type { Lease } from "./lease.ts";
export { type IdentityOptions, loadIdentity } from "./load-identity.ts";
export { type KubeMetadata, type KubeObject, keyOf, type ObjectName } from "./object.ts";
export type { ListPage } from "./pages.ts";
export { Reflector, type ReflectorOptions, unreadOf } from "./reflector.ts";
export { missingDefinition, pathOf, type Resource, remedyOfMissingDefinition } from "./resource.ts";
export { comesAfter } from "./resource-version.ts";
export { apiVersionOf, resources } from "./resources.ts";
export type { Backoff } from "./retry.ts";
export type { Change, ChangeListener, IndexFunctions, StoreView } from "./store.ts";
export {
  TokenAuthorizer,
  type TokenAuthorizerOptions,
  type TokenVerdict,
  tokenReviewRules,
} from "./token-authorizer.ts";
export type { ApiRequest, ApiResponse, Transport } from "./transport.ts";
export type { WatchEvent } from "./watch-events.ts";
export { WorkQueue, type WorkQueueOptions } from "./work-queue.ts";

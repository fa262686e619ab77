export { type KubeMetadata, type KubeObject, keyOf, type ObjectName } from "./object.ts";
export { pathOf, type Resource } from "./resource.ts";
export { apiVersionOf, resources } from "./resources.ts";
export type { ApiRequest, ApiResponse, Transport } from "./transport.ts";

export { ForwardCache } from "./forward-cache.ts";
export { type ForwardTarget, kubectlForwarder, type PortForwarder } from "./kubectl-forward.ts";

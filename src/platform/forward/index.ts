export { ForwardCache, type ForwardTarget, kubectlForwarder, type PortForwarder } from "./kubectl-forward.ts";

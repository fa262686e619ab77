export { KeptForwards } from "./kept-forwards.ts";
export { type ForwardTarget, kubectlForwarder, type PortForwarder } from "./kubectl-forward.ts";

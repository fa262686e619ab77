// Objects of a small healthy cluster, for tests of reports and of the commands that print them.
export { clusterOf, installation, NOW, nodeObject, podObject, twinObject } from "./objects.ts";

// Objects of a small healthy cluster, for tests of reports and of the commands that print them.
export { clusterOf, installation, nodeObject, podObject, REPORT_TIME, twinObject } from "./objects.ts";

export { FaultyApi, type InjectedFault } from "./faulty-api.ts";

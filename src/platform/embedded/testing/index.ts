// Test doubles of the embedded API.
export { FaultyApi, type InjectedFault } from "./faulty-api.ts";

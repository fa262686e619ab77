import { printable, redactText } from "../../log/index.ts";
import { type Reply, textReply } from "../reply.ts";

/** Returns the reason for a failure; undefined if the check passes. It must answer from memory, without waiting. */
export type HealthCheck = () => string | undefined;

/** Checks by name. Without checks the page always reports success. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

/** 200 if all checks pass, else 503. The body lists every check, with the reason of a failure. */
export function healthReply(good: string, checks: HealthChecks): Reply {
  const results = Object.entries(checks).map(([name, check]) => ({ name, reason: reasonOf(check) }));
  const failed = results.filter(({ reason }) => reason !== undefined).length;
  const lines = results.map(({ name, reason }) => (reason === undefined ? `[+] ${name}` : `[-] ${name}: ${reason}`));
  const summary = failed === 0 ? good : `not ${good}: ${failed} of ${results.length} checks failed`;
  return textReply(failed === 0 ? 200 : 503, [...lines, summary].join("\n"));
}

function reasonOf(check: HealthCheck): string | undefined {
  let reason: string | undefined;
  try {
    reason = check();
  } catch (error) {
    reason = `the check threw an error: ${error instanceof Error ? error.message : String(error)}`;
  }
  return reason === undefined ? undefined : printable(redactText(reason));
}

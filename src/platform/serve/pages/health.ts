import { printable, redactText } from "../../log/index.ts";
import { type Reply, textReply } from "../reply.ts";

/** Why it does not hold, in words; undefined when it does. It answers from memory, at once. */
export type HealthCheck = () => string | undefined;

/** Checks by name. None = nothing can be wrong. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

/** 200 when all checks hold, else 503; the body names every check, and the reason where one does not hold. */
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
    reason = `the check itself failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  return reason === undefined ? undefined : printable(redactText(reason));
}

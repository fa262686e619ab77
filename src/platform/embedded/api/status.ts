import type { JsonObject } from "../storage/json.ts";

/** An invalid field, in the wording of Kubernetes' field errors. */
export interface FieldProblem {
  readonly field: string;
  readonly reason: "FieldValueRequired" | "FieldValueInvalid" | "FieldValueNotSupported" | "FieldManagerConflict";
  readonly message: string;
}

interface Details {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly FieldProblem[];
  readonly retryAfterSeconds?: number;
}

/** The resource that an error message names, by group and plural or kind. */
export interface ErrorSubject {
  readonly group: string;
  readonly plural: string;
}

const qualified = ({ group, plural }: ErrorSubject): string => (group === "" ? plural : `${plural}.${group}`);

/** A Kubernetes `Status` of a failed request. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Details | undefined;

  constructor(code: number, reason: string, message: string, details?: Details) {
    super(message);
    this.name = "StatusError";
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  get status(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

const detailsOf = (subject: ErrorSubject, name: string): Details => ({
  name,
  ...(subject.group === "" ? {} : { group: subject.group }),
  kind: subject.plural,
});

export const success = (subject: ErrorSubject, name: string, uid: string): JsonObject => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details: { ...detailsOf(subject, name), uid },
});

export const notFound = (subject: ErrorSubject, name: string) =>
  new StatusError(404, "NotFound", `${qualified(subject)} "${name}" not found`, detailsOf(subject, name));

export const noSuchPath = () => new StatusError(404, "NotFound", "the server could not find the requested resource");

export const alreadyExists = (subject: ErrorSubject, name: string) =>
  new StatusError(409, "AlreadyExists", `${qualified(subject)} "${name}" already exists`, detailsOf(subject, name));

export const conflict = (subject: ErrorSubject, name: string, why: string) =>
  new StatusError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(subject)} "${name}": ${why}`,
    detailsOf(subject, name),
  );

export const modified = (subject: ErrorSubject, name: string) =>
  conflict(
    subject,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );

export const nameMismatch = (given: string, name: string) =>
  badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);

export const badRequest = (message: string) => new StatusError(400, "BadRequest", message);

export const methodNotAllowed = () =>
  new StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");

export const unsupportedMediaType = (known: readonly string[]) =>
  new StatusError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${known.join(", ")}`,
  );

export const expired = (message: string) => new StatusError(410, "Expired", message);

export const unauthorized = () => new StatusError(401, "Unauthorized", "Unauthorized");

export const tooLarge = (limit: number) =>
  new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${limit}`);

export function invalid(
  of: { readonly group: string; readonly kind: string },
  name: string,
  problems: readonly FieldProblem[],
): StatusError {
  const lines = problems.map(({ field, message }) => `${field}: ${message}`);
  const all = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  const kind = of.group === "" ? of.kind : `${of.kind}.${of.group}`;
  return new StatusError(422, "Invalid", `${kind} "${name}" is invalid: ${all}`, {
    name,
    ...(of.group === "" ? {} : { group: of.group }),
    kind: of.kind,
    causes: problems,
  });
}

export function applyConflict(causes: readonly FieldProblem[]): StatusError {
  const shown = causes.map(({ field, message }) => `${message}: ${field}`);
  const word = causes.length === 1 ? "conflict" : "conflicts";
  return new StatusError(409, "Conflict", `Apply failed with ${causes.length} ${word}: ${shown.join("; ")}`, {
    causes,
  });
}

/** A request that cannot be read: 400 if it is malformed; 413, 500 or 503 if the extender's limits prevent it. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 413 | 500 | 503;

  constructor(message: string, status: RequestError["status"] = 400) {
    super(message);
    this.status = status;
  }
}

/** The byte reader does not interpret a repeated or escaped key; the worker reads such a request. */
export class AmbiguousKeyError extends Error {
  override readonly name = "AmbiguousKeyError";
}

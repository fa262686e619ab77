/** A request that gets no answer but a status: 400 when it is wrong, 413, 500 or 503 when we could not read it here and now. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 413 | 500 | 503;

  constructor(message: string, status: RequestError["status"] = 400) {
    super(message);
    this.status = status;
  }
}

/** Valid or not, the fast reader does not judge it: the request goes to the worker. */
export class AmbiguousKeyError extends Error {
  override readonly name = "AmbiguousKeyError";
}

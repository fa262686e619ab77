/** A request that gets no answer but a status: 400 when it is wrong, 413, 500 or 503 when we could not read it here and now. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly status: 400 | 413 | 500 | 503;

  constructor(message: string, status: WireError["status"] = 400) {
    super(message);
    this.status = status;
  }
}

/** Valid or not, the fast reader does not judge it: the request goes to the worker. */
export class Surprise extends Error {
  override readonly name = "Surprise";
}

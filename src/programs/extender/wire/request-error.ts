/** A request that cannot be read: 400 if it is malformed, 413 if it exceeds a limit. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 413;

  constructor(message: string, status: RequestError["status"] = 400) {
    super(message);
    this.status = status;
  }
}

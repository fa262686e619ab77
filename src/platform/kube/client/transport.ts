/** One call to a Kubernetes API server, as the wire sees it. */
export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, for example `/api/v1/nodes?limit=500`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The answer goes on for minutes, as a watch does: it must not take a place that short calls wait for. */
  readonly longLived?: boolean;
  /** Ends the call, whatever it waits for. */
  readonly signal: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it arrives; a watch goes on until the server, the signal or the network ends it. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * How requests reach an API server: over HTTP to a real one, or straight into the embedded one. It knows nothing of
 * Kubernetes; it rejects only when no answer came.
 */
export interface Transport {
  request(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, for example `/api/v1/nodes?limit=500`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The response lasts for minutes, like a watch; it uses the watch connection pool. */
  readonly longLived?: boolean;
  readonly signal: AbortSignal;
}

export interface ApiResponse {
  readonly status: number;
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it arrives. A watch ends with the server, the signal or the network. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Sends requests to an API server, over HTTP or in process. Rejects only when there is no response. */
export interface Transport {
  request(request: ApiRequest): Promise<ApiResponse>;
  close(): Promise<void>;
}

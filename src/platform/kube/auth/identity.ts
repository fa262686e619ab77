/** Keys and certificates of a connection, in PEM. A new object means that they changed. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The expected name in the server's certificate, if it differs from the address. */
  readonly serverName?: string;
  /** Skips verification of the server's certificate, at the user's request. */
  readonly insecure?: boolean;
}

/** The API server and the credentials for it. */
export interface Identity {
  readonly server: string;
  /** The default namespace. */
  readonly namespace: string | undefined;
  /** Called for each request, because tokens rotate. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Called for each connection. */
  tls(): Promise<TlsMaterial>;
  /** The server answered 401: the next call reads the credentials from their source again. */
  refused(): void;
}

export interface Credentials {
  headers(): Promise<Readonly<Record<string, string>>>;
  certificates(): TlsMaterial;
  forget(): void;
}

/** Returns the same object until its content changes; the transport compares it by identity. */
export function cachedUntilChanged(current: () => TlsMaterial): () => TlsMaterial {
  let last: { material: TlsMaterial; text: string } | undefined;
  return () => {
    const material = current();
    const text = JSON.stringify(material);
    if (last?.text !== text) last = { material, text };
    return last.material;
  };
}

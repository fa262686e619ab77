/** Keys and certificates of a connection, in PEM. One object per state: another object means they changed. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name the server's certificate must carry, where it is not the one in its address. */
  readonly serverName?: string;
  /** The server's certificate is not checked: a person asked for that. */
  readonly insecure?: boolean;
}

/** Which server we talk to and who we are there. */
export interface Identity {
  readonly server: string;
  /** The namespace we are at home in. */
  readonly namespace: string | undefined;
  /** Asked for each request: tokens are replaced while we run. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** Asked for each connection. */
  tls(): Promise<TlsMaterial>;
  /** The server did not accept us: next time the source is asked again, not memory. */
  refused(): void;
}

/** How a user proves who it is. */
export interface Credentials {
  headers(): Promise<Readonly<Record<string, string>>>;
  certificates(): TlsMaterial;
  forget(): void;
}

/** How a store is reached. */
export interface Way {
  /** For people: without credentials. */
  readonly host: string;
  readonly isTls: boolean;
  /** Nothing of it leaves this machine. */
  readonly isLocal: boolean;
  readonly hasPassword: boolean;
  /** What to write for TLS. */
  readonly tlsRemedy: string;
}

/** A host that is this machine, whatever the resolver says. An IPv6 address without its brackets. */
export function isLoopback(host: string): boolean {
  return (
    /^(?:localhost|(?:.+\.)?localhost\.?)$/i.test(host) ||
    /^127(?:\.\d{1,3}){3}$/.test(host) ||
    /^(?:0*:)*0*1$/.test(host) ||
    /^::ffff:127\./i.test(host)
  );
}

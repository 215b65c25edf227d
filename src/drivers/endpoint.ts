/** Where a server listens. An IPv6 address stands without its brackets. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const written = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

/** `host`, `host:port` or `[IPv6]:port`; `undefined` if the text is none of these. */
export function parseEndpoint(text: string, defaultPort: number): Endpoint | undefined {
  const [, ipv6, name, digits] = written.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

export function endpointText({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

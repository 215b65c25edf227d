import { FaultProxy } from '../../support/proxy.js';

interface Server {
  readonly port: number;
  readonly host?: string;
}

/** The proxies of a stage, of which each seat has its own to every server. */
export class Ways {
  readonly #proxies: FaultProxy[] = [];

  /** One for each server, in this order; the host is the loopback one if it has none. */
  async to(servers: readonly Server[]): Promise<FaultProxy[]> {
    const started = await Promise.all(
      servers.map(({ host, port }) => FaultProxy.start(port, host)),
    );
    this.#proxies.push(...started);
    return started;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.stop()));
  }
}

/** `127.0.0.1:1,127.0.0.1:2` */
export function hostsOf(proxies: readonly FaultProxy[]): string {
  return proxies.map(addressOf).join(',');
}

export function addressOf({ port }: { readonly port: number }): string {
  return `127.0.0.1:${port}`;
}

import { FaultProxy } from '../../support/proxy.js';

/** The proxies of a stage, of which each seat has its own to every server. */
export class Ways {
  readonly #proxies: FaultProxy[] = [];

  /** One for each port, in this order. */
  async to(ports: readonly number[]): Promise<FaultProxy[]> {
    const started = await Promise.all(ports.map((port) => FaultProxy.start(port)));
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

import { type Runtime, realRuntime } from '../../src/time/index.js';
import type { FaultProxy } from './proxy.js';

/** The clients of one case, each behind proxies of its own, and what they have open. */
export class ProxiedClients<Client extends { close(): Promise<void> }> {
  readonly #proxies = new Map<Client, readonly FaultProxy[]>();
  #timerCount = 0;

  /** For the clients: real time, and their timers are counted. */
  readonly runtime: Runtime = {
    ...realRuntime,
    setTimer: (delayMs, callback, options) => {
      this.#timerCount += 1;
      let isPending = true;
      const ended = () => {
        if (isPending) this.#timerCount -= 1;
        isPending = false;
      };
      const fire = () => {
        ended();
        callback();
      };
      const timer = realRuntime.setTimer(delayMs, fire, options);
      const cancel = () => {
        ended();
        timer.cancel();
      };
      return { cancel };
    },
  };

  /** The disturbances that are the same for every store, and the count of what is open. */
  readonly controls = {
    hang: async (client: Client) =>
      this.each(client, ({ up, down }) => {
        up.swallow();
        down.swallow();
      }),
    cut: async (client: Client) =>
      this.each(client, (proxy) => {
        proxy.refuse(true);
        proxy.reset();
      }),
    loseReplies: async (client: Client) => this.each(client, ({ down }) => down.swallow()),
    holdRequests: async (client: Client) => this.each(client, ({ up }) => up.hold()),
    heal: async (client: Client) => this.each(client, (proxy) => proxy.heal()),
    pendingCount: async () => {
      const proxies = [...this.#proxies.values()].flat();
      return proxies.reduce((sum, proxy) => sum + proxy.connectionCount, this.#timerCount);
    },
  };

  add(client: Client, ...proxies: readonly FaultProxy[]): void {
    this.#proxies.set(client, proxies);
  }

  proxiesOf(client: Client): readonly FaultProxy[] {
    const proxies = this.#proxies.get(client);
    if (proxies === undefined) throw new Error('this client is not of this subject');
    return proxies;
  }

  /** The only proxy of a client that has one. */
  proxyOf(client: Client): FaultProxy {
    return this.proxiesOf(client)[0] as FaultProxy;
  }

  each(client: Client, disturb: (proxy: FaultProxy) => void): void {
    for (const proxy of this.proxiesOf(client)) disturb(proxy);
  }

  async close(): Promise<void> {
    for (const [client, proxies] of this.#proxies) {
      await client.close();
      for (const proxy of proxies) await proxy.stop();
    }
  }
}

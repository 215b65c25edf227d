import type { LinkMessage, MemoryLink } from '../../drivers/memory/index.js';
import type { Trace } from '../trace.js';
import type { Machine } from '../world/machine.js';
import type { Network, Way } from './network.js';

export interface SimLinkOptions {
  readonly network: Network;
  readonly client: Machine;
  readonly server: Machine;
  readonly trace: Trace;
}

/**
 * The network between one incarnation of a process and one server. Every client of a state in memory takes such a link:
 * coordinators, streams, jobs, and the fence of this room.
 *
 * A server that is down refuses at once; one that is paused executes when it goes on.
 */
export class SimLink implements MemoryLink {
  readonly #options: SimLinkOptions;
  readonly #incarnation: number;
  readonly #there: Way;
  readonly #back: Way;
  #count = 0;
  /** Which request the server executes just now. */
  #answered: string | undefined;

  constructor(options: SimLinkOptions) {
    const { network, client, server } = options;
    this.#options = options;
    this.#incarnation = client.incarnation;
    this.#there = network.way(client.id, server.id, 'request');
    this.#back = network.way(client.id, server.id, 'reply');
  }

  carry({ direction, operation }: LinkMessage, deliver: () => void): boolean {
    const { network, client, server, trace } = this.#options;
    const { world } = client;
    const isRequest = direction === 'request';
    if (isRequest && server.isDown) {
      trace.add(world.nowMs, client.id, 'refused', `${operation} by ${server.id}`);
      return false;
    }
    // Most runs are only checked: what nobody reads is not worded.
    const { isKept } = trace;
    const label = isKept ? this.#label(isRequest, operation) : '';
    const from = isRequest ? client : server;
    const to = isRequest ? server : client;
    trace.add(
      world.nowMs,
      from.id,
      isRequest ? 'sends' : 'answers',
      isKept ? `${label} to ${to.id}` : '',
    );
    const arrive = () => {
      // A reply to somebody who is not any more.
      if (!isRequest && client.incarnation !== this.#incarnation) return;
      trace.add(world.nowMs, to.id, isRequest ? 'executes' : 'hears', label);
      this.#answered = label;
      deliver();
      this.#answered = undefined;
    };
    const delaysMs = network.route(isRequest ? this.#there : this.#back);
    // It has crashed meanwhile, and hears nothing more.
    if (!isRequest && client.incarnation !== this.#incarnation) return true;
    for (const delayMs of delaysMs) world.after(delayMs, () => to.deliver(arrive));
    return true;
  }

  /** An answer has that of its request; what a server tells unasked has one of its own. */
  #label(isRequest: boolean, operation: string): string {
    if (!isRequest && this.#answered !== undefined) return this.#answered;
    this.#count += 1;
    return `${operation} #${this.#incarnation}.${this.#count}`;
  }
}

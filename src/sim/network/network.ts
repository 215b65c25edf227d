import type { NetworkFault } from '../faults/faults.js';
import { Random } from '../random.js';
import type { World } from '../world/world.js';

export type Direction = 'request' | 'reply';

/** From a process to a server, or back. */
export interface Way {
  readonly process: string;
  readonly direction: Direction;
  readonly random: Random;
  lastArrivalMs: number;
}

interface ActiveFault {
  readonly fault: NetworkFault;
  readonly random: Random;
}

/** How long a message takes when nothing is wrong, in milliseconds. */
const shortestMs = 0.2;
const longestMs = 3;
/** A client library sends again what was under way up to so long after it had. */
const resentAfterMs = 2_000;

/** When each message arrives, how often, and whether at all. */
export class Network {
  readonly #world: World;
  readonly #seed: number;
  readonly #ways = new Map<string, Way>();
  #active: ActiveFault[] = [];
  /** What the faults did to how many messages. */
  readonly harm = new Map<NetworkFault['kind'], number>();

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#seed = seed;
  }

  begin(fault: NetworkFault): void {
    this.#active.push({ fault, random: new Random(fault.seed, 'fault') });
  }

  end(fault: NetworkFault): void {
    this.#active = this.#active.filter((one) => one.fault !== fault);
  }

  /** All incarnations of a process share it. */
  way(process: string, server: string, direction: Direction): Way {
    const name = `${process}/${server}/${direction}`;
    const known = this.#ways.get(name);
    if (known !== undefined) return known;
    const random = new Random(this.#seed, `network/${name}`);
    const way = { process, direction, random, lastArrivalMs: 0 };
    this.#ways.set(name, way);
    return way;
  }

  /**
   * In how many milliseconds a message arrives: once as a rule, more often or never under a fault. Without one, messages of
   * one way arrive in the order they were sent in.
   */
  route(way: Way): number[] {
    const { process, direction } = way;
    // Drawn in any case, so that a fault that is taken away changes nothing for the other messages.
    let delayMs = way.random.magnitude(shortestMs, longestMs);
    if (this.#active.length === 0) return [this.#arrival(way, delayMs, true)];
    let isInOrder = true;
    const copies: number[] = [];
    for (const { fault, random } of this.#active) {
      if (fault.machine !== process) continue;
      if (fault.direction !== 'both' && fault.direction !== direction) continue;
      if (!random.chance(fault.share)) continue;
      this.harm.set(fault.kind, (this.harm.get(fault.kind) ?? 0) + 1);
      if (fault.kind === 'partition' || fault.kind === 'drop') return [];
      if (fault.kind === 'hold') delayMs += fault.atMs + fault.forMs - this.#world.nowMs;
      if (fault.kind === 'delay') delayMs += random.magnitude(1, fault.forMs);
      if (fault.kind === 'duplicate') copies.push(random.magnitude(shortestMs, 100));
      if (fault.kind === 'resend' && direction === 'request')
        copies.push(random.between(longestMs, resentAfterMs));
      if (fault.kind === 'reorder') {
        isInOrder = false;
        delayMs += random.magnitude(shortestMs, 50);
      }
    }
    const arrivals = [this.#arrival(way, delayMs, isInOrder)];
    for (const after of copies) arrivals.push(delayMs + after);
    return arrivals;
  }

  #arrival(way: Way, delayMs: number, isInOrder: boolean): number {
    const atMs = this.#world.nowMs + delayMs;
    if (!isInOrder) return delayMs;
    way.lastArrivalMs = Math.max(way.lastArrivalMs, atMs);
    return way.lastArrivalMs - this.#world.nowMs;
  }
}

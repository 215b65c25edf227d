import { requireKnown } from '../../errors/checks.js';
import { directLink, type LinkMessage, type MemoryLink } from './link.js';

/**
 * What may befall a message: `drop` (it never arrives), `hold` (it arrives when {@link FaultLink.flush} is called),
 * `duplicate` (it arrives twice).
 */
export type LinkFault = 'drop' | 'hold' | 'duplicate';

export interface DisturbOptions {
  /** Only messages of this operation. Default: of every operation. */
  readonly operation?: string;
  /** How many messages, 1 and above. Default: all until {@link FaultLink.heal}. */
  readonly count?: number;
}

interface Disturbance extends DisturbOptions {
  readonly direction: LinkMessage['direction'];
  readonly fault: LinkFault;
  remainingCount: number;
}

/** A link whose faults a test turns on and off. Without any it behaves like {@link directLink}. */
export class FaultLink implements MemoryLink {
  #isCut = false;
  #disturbances: Disturbance[] = [];
  #held: { readonly message: LinkMessage; readonly deliver: () => void }[] = [];

  carry(message: LinkMessage, deliver: () => void): boolean {
    if (this.#isCut) return false;
    const fault = this.#faultOf(message);
    if (fault === 'drop') return true;
    if (fault === 'hold') {
      this.#held.push({ message, deliver });
      return true;
    }
    if (fault === 'duplicate') directLink.carry(message, deliver);
    return directLink.carry(message, deliver);
  }

  /** Nothing can be sent: calls fail at once, and were not executed. */
  cut(): void {
    this.#isCut = true;
  }

  /** Neither requests nor replies arrive, and nobody is told. */
  hang(): void {
    this.disturb('request', 'drop');
    this.disturb('reply', 'drop');
  }

  /** Messages in this direction meet `fault`. The oldest disturbance that still applies decides. */
  disturb(
    direction: LinkMessage['direction'],
    fault: LinkFault,
    options: DisturbOptions = {},
  ): void {
    requireKnown('options', options, { operation: true, count: true });
    const remainingCount = options.count ?? Number.POSITIVE_INFINITY;
    this.#disturbances.push({ ...options, direction, fault, remainingCount });
  }

  /** Every fault ends. What was held stays held until {@link flush}. */
  heal(): void {
    this.#isCut = false;
    this.#disturbances = [];
  }

  /** Delivers what was held, in its order, faults or not. Returns how many messages that were. */
  flush(): number {
    const held = this.#held;
    this.#held = [];
    for (const { message, deliver } of held) directLink.carry(message, deliver);
    return held.length;
  }

  #faultOf(message: LinkMessage): LinkFault | undefined {
    const disturbance = this.#disturbances.find(
      ({ direction, operation, remainingCount }) =>
        direction === message.direction &&
        (operation ?? message.operation) === message.operation &&
        remainingCount > 0,
    );
    if (disturbance === undefined) return undefined;
    disturbance.remainingCount -= 1;
    return disturbance.fault;
  }
}

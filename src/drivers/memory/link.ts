import { requireMethods } from '../../errors/checks.js';

/** What crosses between a memory client and the state it shares with others. */
export interface LinkMessage {
  readonly direction: 'request' | 'reply';
  /** The method of the coordinator or stream store this belongs to. A wake of a watch is a reply of `watch`. */
  readonly operation: string;
}

/**
 * The network between a memory client and its state, as far as tests want to disturb it.
 *
 * `carry` takes one message and calls `deliver` when it arrives: soon, late, twice or never, but not before `carry` has
 * returned. It answers `false` if the message could not even be sent.
 */
export interface MemoryLink {
  carry(message: LinkMessage, deliver: () => void): boolean;
}

/** Everything arrives, two microtasks later: nothing is answered before the caller's next statement has run. */
export const directLink: MemoryLink = {
  carry(_message, deliver) {
    queueMicrotask(() => queueMicrotask(deliver));
    return true;
  },
};

/** The link of an option, by default {@link directLink}. @throws {OptionError} if it is none. */
export function requireLink(link: MemoryLink = directLink): MemoryLink {
  const remedy = 'leave it out, or pass a FaultLink';
  return requireMethods('link', link, ['carry'], 'is not a link', remedy);
}

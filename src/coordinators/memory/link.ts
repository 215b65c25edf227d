/** What crosses between a memory coordinator and its store. */
export interface LinkMessage {
  readonly direction: 'request' | 'reply';
  /** The method of the coordinator this belongs to. A wake of a watch is a reply of `watch`. */
  readonly operation: LinkOperation;
}

export type LinkOperation =
  | 'acquire'
  | 'renew'
  | 'release'
  | 'handoff'
  | 'read'
  | 'list'
  | 'watch'
  | 'readDocument'
  | 'writeDocument';

/**
 * The network between a memory coordinator and its store, as far as tests want to disturb it.
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

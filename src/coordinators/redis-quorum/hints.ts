import type { Unsubscribe } from '../../events/index.js';
import type { Quorum } from './quorum.js';

/** After a quiet moment of this length what a node missed does not count any more. */
const quietMs = 1_000;
/** Nodes whose connections come up at the same time are one piece of news. */
const togetherMs = 100;

interface Told {
  /** How often each node has said it. */
  readonly counts: number[];
  /** How often it was passed on. */
  passedCount: number;
  atMs: number;
}

/**
 * Listens to one channel at every node, and passes on each message once: all nodes tell the same, and whichever is first
 * is heard. So the hints of a quorum outlast the failure of all nodes but one.
 *
 * @param told gets each message, or `undefined` after a connection came up: anything may have happened before.
 */
export function hear(
  quorum: Quorum,
  channel: string,
  told: (message: string | undefined) => void,
): Unsubscribe {
  const heard = new Map<string, Told>();
  let connectedAtMs = Number.NEGATIVE_INFINITY;
  const anything = () => {
    heard.clear();
    const nowMs = quorum.nowMs();
    if (nowMs - connectedAtMs < togetherMs) return;
    connectedAtMs = nowMs;
    told(undefined);
  };
  const pass = (node: number, message: string) => {
    const nowMs = quorum.nowMs();
    forgetQuiet(heard, nowMs);
    const entry = heard.get(message) ?? { counts: [], passedCount: 0, atMs: nowMs };
    heard.set(message, entry);
    entry.atMs = nowMs;
    const count = (entry.counts[node] ?? 0) + 1;
    entry.counts[node] = count;
    if (count <= entry.passedCount) return;
    entry.passedCount = count;
    told(message);
  };
  const stops = quorum.nodes.map((node) =>
    node.session.subscriber.subscribe(channel, (message) =>
      message === undefined ? anything() : pass(node.number, message),
    ),
  );
  return () => {
    for (const stop of stops) stop();
  };
}

function forgetQuiet(heard: Map<string, Told>, nowMs: number): void {
  for (const [message, { atMs }] of heard) if (nowMs - atMs > quietMs) heard.delete(message);
}

import { StoreMisconfiguredError, TenureError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { RedisSource, Search } from './client.js';
import { Link } from './link.js';

/**
 * Connects to the first of the servers that a source finds, and that is accepted; each gets its share of the time.
 *
 * @param accept rejects for one that is not; it then ends the link.
 * @throws {TenureError} why the last of them was not, or the first of them that is misconfigured.
 */
export async function openLink(
  source: RedisSource,
  search: Search,
  accept: (link: Link, deadlineMs: number) => Promise<void> = async () => undefined,
): Promise<Link> {
  const { runtime, signal } = search;
  const nodes = await source.locate(search);
  let failure: TenureError | undefined;
  for (const [index, node] of nodes.entries()) {
    const nowMs = runtime.now().monotonicMs;
    const shareMs = Math.max(1, (search.deadlineMs - nowMs) / (nodes.length - index));
    try {
      const link = await Link.open(node, runtime, shareMs, signal);
      await accept(link, nowMs + shareMs);
      return link;
    } catch (error) {
      if (!(error instanceof TenureError)) throw error;
      // A master that cannot be trusted says more than a replica that was tried after it.
      if (!(failure instanceof StoreMisconfiguredError)) failure = error;
    }
  }
  throw failure ?? unreachable('unreachable', `nobody told of a server of ${source.address}`);
}

/** Opens the store of a holder, by the package as it was built. */
import { connect } from '../support/electorate/connect.mjs';

/**
 * @param {import('./crew.js').HolderSettings} settings
 * @returns {Promise<import('tenure').Coordinator>}
 */
export async function connectHolder({ store, namespace, timing }) {
  const { url, addresses } = store;
  const { redisCoordinator, redisQuorumCoordinator } = await import('tenure/redis');
  if (url.startsWith('redis+quorum:'))
    return redisQuorumCoordinator(url, {
      namespace,
      // A request may take two steps, and more than usual on a busy machine.
      nodeTimeoutMs: Math.round(timing.attemptTimeoutMs / 2),
      // When a majority has lost its memory, nothing is granted for so long.
      largestTtlMs: 10_000,
    });
  const connectTimeoutMs = Math.round(timing.ttlMs / 5);
  if (addresses === undefined) return await connect(url, { namespace, connectTimeoutMs });
  return redisCoordinator(url, { namespace, connectTimeoutMs, nodeAddressMap: addresses });
}

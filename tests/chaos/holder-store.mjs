/** Opens the store of a holder, by the package as it was built. */
import { connect } from '../support/electorate/connect.mjs';

/**
 * @param {import('./crew.js').HolderSettings} settings
 * @returns {Promise<import('tenure').Coordinator>}
 */
export async function connectHolder({ store, namespace, timing }) {
  const { url, addresses } = store;
  const connectTimeoutMs = Math.round(timing.ttlMs / 5);
  if (addresses === undefined) return await connect(url, { namespace, connectTimeoutMs });
  const { redisCoordinator } = await import('tenure/redis');
  return redisCoordinator(url, { namespace, connectTimeoutMs, nodeAddressMap: addresses });
}

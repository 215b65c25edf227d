import { eraseKeys } from '../../drivers/redis/index.js';
import { QuorumKeys } from './keys.js';
import { nodeUrls } from './url.js';

/**
 * Deletes everything the leases of a namespace left on the nodes of a quorum. For namespaces of one run only, whose clients
 * are all gone.
 *
 * @throws as `eraseKeys`, when every node was tried.
 */
export async function eraseQuorumLeases(url: string, namespace: string): Promise<void> {
  const { everything } = new QuorumKeys(namespace);
  const ends = await Promise.allSettled(nodeUrls(url).map((node) => eraseKeys(node, everything)));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

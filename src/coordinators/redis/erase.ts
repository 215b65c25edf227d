import { eraseKeys } from '../../drivers/redis/index.js';
import { leaseKeysPattern } from './keys.js';

/**
 * Deletes everything the leases of a namespace left on a server: records, the last term, indexes, candidates,
 * histories, documents.
 *
 * For namespaces of one run only, whose clients are all gone: without the last term, later terms rise above earlier ones
 * only as far as the server's clock did.
 *
 * @throws as {@link eraseKeys}, and {@link OptionError} for a namespace that is no name.
 */
export function eraseLeases(url: string, namespace: string): Promise<void> {
  return eraseKeys(url, leaseKeysPattern(namespace));
}

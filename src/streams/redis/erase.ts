import { eraseKeys } from '../../drivers/redis/index.js';
import { streamKeysPattern } from './keys.js';

/**
 * Deletes the logs of all topics of a namespace, with what they know of keys, ids and owners. For namespaces of one run
 * only, whose clients are all gone.
 *
 * @throws as {@link eraseKeys}, and {@link OptionError} for a namespace that is no name.
 */
export function eraseStreams(url: string, namespace: string): Promise<void> {
  return eraseKeys(url, streamKeysPattern(namespace));
}

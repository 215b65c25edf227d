import { memoryUrl, storeKindOf } from './store-url.js';
import { type MessageStores, openMessageStores, openStores } from './stores.js';

/**
 * Leases in the store that the URL names, messages beside them: in the same store if that keeps some and nothing else is
 * asked for.
 *
 * @param streamsUrl where messages are; for leases elsewhere, in memory by default.
 * @throws {OptionError}
 */
export async function openTrialStores(
  url: string,
  streamsUrl: string | undefined,
  namespace: string,
  source: string,
): Promise<MessageStores> {
  const keepsMessages = ['memory', 'redis'].includes(storeKindOf(url, source));
  if (keepsMessages && streamsUrl === undefined)
    return await openMessageStores(url, namespace, source);
  const leases = await openStores(url, namespace, source);
  const messages = await openMessageStores(streamsUrl ?? memoryUrl, namespace, '--streams');
  return {
    address: `${leases.address}, messages in ${messages.address}`,
    isLocal: leases.isLocal && messages.isLocal,
    openCoordinator: leases.openCoordinator,
    openStreams: messages.openStreams,
    async erase() {
      const ends = await Promise.allSettled([leases.erase(), messages.erase()]);
      for (const end of ends) if (end.status === 'rejected') throw end.reason;
    },
  };
}

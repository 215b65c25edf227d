import type { StoreKind } from './store-kinds.js';
import { memoryUrl, storeKindOf, urlForms } from './store-url.js';
import { type MessageStores, openMessageStores, openStores } from './stores.js';

const trialRemedy = `use memory:, ${urlForms}`;
const keptMessages: readonly StoreKind[] = ['memory', 'redis', 'sentinel'];

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
  const keepsMessages = keptMessages.includes(storeKindOf(url, source, trialRemedy));
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

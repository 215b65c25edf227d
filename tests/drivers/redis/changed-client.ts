import type { RedisClient, RedisSource } from '../../../src/drivers/redis/client.js';

/** A source whose clients are changed before anybody gets them. */
export function withClients(
  source: RedisSource,
  change: (client: RedisClient) => void,
): RedisSource {
  return {
    topology: source.topology,
    address: source.address,
    async locate(search) {
      const nodes = await source.locate(search);
      return nodes.map((node) => ({
        address: node.address,
        async open(timeoutMs) {
          const client = await node.open(timeoutMs);
          // Whoever changes `call` means each command.
          delete client.sendTaking;
          change(client);
          return client;
        },
      }));
    },
  };
}

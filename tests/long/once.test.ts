import { inject } from 'vitest';
import { registerOnceRounds } from '../once/proof/proof.js';

/** TENURE_LONG_ONCE: how many keys two processes want at once, over all stores (10,000). */
const roundCount = Number(process.env.TENURE_LONG_ONCE ?? 10_000);
const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });
const shares = { postgres: 0.4, redis: 0.4, sqlite: 0.2 } as const;

for (const store of ['postgres', 'redis', 'sqlite'] as const)
  registerOnceRounds(store, {
    servers,
    roundCount: Math.ceil(roundCount * shares[store]),
    batchSize: 100,
  });

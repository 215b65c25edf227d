import { inject } from 'vitest';
import { registerFrozenRounds } from '../support/frozen-writer/proof.js';
import { fencedStores } from '../support/frozen-writer/stores.js';

/** TENURE_LONG_FREEZES: how often an owner is frozen on each store (200). */
const roundCount = Number(process.env.TENURE_LONG_FREEZES ?? 200);
const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });

for (const [title, store] of Object.entries(fencedStores))
  registerFrozenRounds(title, store, { servers, roundCount });

import { inject } from 'vitest';
import { registerFrozenRounds } from '../../support/frozen-writer/proof.js';
import { store } from '../../support/frozen-writer/redis.js';

const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });
registerFrozenRounds('redis', store, { servers, roundCount: 10 });

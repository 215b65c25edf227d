import { inject } from 'vitest';
import { store } from '../../support/frozen-writer/postgres.js';
import { registerFrozenRounds } from '../../support/frozen-writer/proof.js';

const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });
registerFrozenRounds('postgres', store, { servers, roundCount: 10 });

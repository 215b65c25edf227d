import { inject } from 'vitest';
import { store } from '../../support/frozen-writer/mysql.js';
import { registerFrozenRounds } from '../../support/frozen-writer/proof.js';

const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });
registerFrozenRounds('mysql', store, { servers, roundCount: 10 });

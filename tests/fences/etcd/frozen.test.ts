import { inject } from 'vitest';
import { store } from '../../support/frozen-writer/etcd.js';
import { registerFrozenRounds } from '../../support/frozen-writer/proof.js';

const servers = () => ({ postgresUrl: inject('postgresUrl'), redisUrl: inject('redisUrl') });
registerFrozenRounds('etcd', store, { servers, roundCount: 10 });

import { registerOnceRounds } from './proof/proof.js';

// The other stores play these rounds in the long tier.
registerOnceRounds('sqlite', {
  servers: () => ({ postgresUrl: '', redisUrl: '' }),
  roundCount: 30,
  batchSize: 30,
});

/** Many candidates in one process, over a few connections: started by `candidate.ts`, like `candidate.mjs`. */
import { Elections, Leases } from 'tenure';
import { connect } from './connect.mjs';
import { nameOf, obey, report, tell, writing } from './parent.mjs';

const {
  url,
  namespace,
  id,
  name,
  leases: timing,
  count,
  connectionCount,
} = /** @type {import('./candidate.js').CrowdSettings} */ (
  JSON.parse(process.env.CANDIDATE ?? '{}')
);

const connections = await Promise.all(
  Array.from({ length: connectionCount }, () => connect(url, { namespace })),
);

obey({
  async lead() {
    for (let index = 0; index < count; index++) {
      const coordinator = connections[index % connectionCount];
      if (coordinator === undefined) break;
      const candidate = `${id}.${index}`;
      const leases = new Leases(coordinator, { id: candidate, ...timing });
      const election = new Elections(leases).election(name);
      report(election, { candidate });
      election
        .lead(writing(20))
        .catch((error) => tell('leadFailed', { candidate, error: nameOf(error) }));
    }
  },
});
tell('ready');

/**
 * A process that stands for a name and works while it leads: `node candidate.mjs URL NAMESPACE ID NAME TTL_MS`.
 *
 * Says `ready`, then `leads TERM` and `ends REASON`. Leaves on SIGTERM.
 */
import { Elections, Leases } from 'tenure';
import { connect } from '../support/electorate/connect.mjs';

const [url = '', namespace = '', id = '', name = '', ttlMs = ''] = process.argv.slice(2);
const coordinator = await connect(url, { namespace });
const leases = new Leases(coordinator, { id, ttlMs: Number(ttlMs) });
const elections = new Elections(leases);
const election = elections.election(name, { metadata: { program: 'candidate' } });
const leaving = new AbortController();
process.once('SIGTERM', () => leaving.abort());

console.log('ready');
await election.lead(
  async (lease, { stopping }) => {
    console.log(`leads ${lease.term}`);
    await new Promise((resolve) => {
      stopping.addEventListener('abort', resolve, { once: true });
      lease.signal.addEventListener('abort', resolve, { once: true });
    });
    console.log(`ends ${lease.endReason ?? 'asked to'}`);
  },
  { signal: leaving.signal },
);
await elections.close();
await leases.close();
await coordinator.close();

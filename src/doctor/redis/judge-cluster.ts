import { counted } from '../../errors/say.js';
import { type Check, critical, ifSeen, ok, warning } from '../check.js';
import type { ClusterFacts } from './facts.js';

const slotCount = 16_384;

/** What is looked at in a cluster as a whole. */
export const clusterChecks: readonly Check<ClusterFacts>[] = [
  {
    id: 'redis-cluster-mode',
    severities: ['critical'],
    risk: 'it has no slots: leases are refused by whoever asks it first',
    remedy:
      'use redis://HOST:PORT for a server that is alone, and name nodes of one cluster (cluster-enabled yes) alone',
    judge({ strangers, info }) {
      if (strangers.length > 0) return critical(`no node of a cluster: ${strangers.join(', ')}`);
      return info === undefined ? undefined : ok('what answers is a node of a cluster');
    },
  },
  {
    id: 'redis-cluster-agreement',
    severities: ['critical'],
    risk: 'two masters grant leases at the same time: two processes hold one name',
    remedy:
      'name nodes of one cluster alone; `redis-cli -h HOST -p PORT CLUSTER NODES` shows those that each one knows',
    judge({ owners, slot }) {
      if (owners.length === 0) return undefined;
      if (owners.length === 1) return ok(`all take ${owners[0]} for the master of slot ${slot}`);
      return critical(`for slot ${slot} they name ${owners.join(' and ')}`);
    },
  },
  {
    id: 'redis-cluster-state',
    severities: ['critical'],
    risk: 'requests are refused (CLUSTERDOWN): no lease is granted or renewed, and those that are held end',
    remedy:
      '`redis-cli --cluster check HOST:PORT` shows what is missing, `--cluster fix` gives slots away',
    judge: ({ info }) =>
      info &&
      ifSeen(info, ({ state, slotsAssigned, slotsOk }) => {
        const text = `state ${state}, ${slotsOk} of ${slotCount} slots are served`;
        return state === 'ok' && slotsAssigned === slotCount && slotsOk === slotCount
          ? ok(text)
          : critical(text);
      }),
  },
  {
    id: 'redis-cluster-slot',
    severities: ['critical'],
    risk: 'leases of this namespace are refused',
    remedy: 'give the slot to a master: `redis-cli --cluster fix HOST:PORT`',
    judge({ slot, owner, info }) {
      if (info === undefined) return undefined;
      const text = `slot ${slot}, where the namespace is, has`;
      return owner === undefined
        ? critical(`${text} no master`)
        : ok(`${text} the master ${owner}`);
    },
  },
  {
    id: 'redis-cluster-size',
    severities: ['warning'],
    risk: 'when a master fails, the others are no majority, and nobody replaces it',
    remedy: 'run three masters or more: `redis-cli --cluster add-node`, then `--cluster rebalance`',
    judge: ({ info }) =>
      info &&
      ifSeen(info, ({ size }) => {
        const text = `${counted(size, 'master')} with slots`;
        return size < 3 ? warning(text) : ok(text);
      }),
  },
  {
    id: 'redis-cluster-nodes',
    severities: ['warning'],
    risk: 'when the others of the URL are gone too, nobody finds the cluster',
    remedy: 'start it, or take it off the URL',
    judge({ nodes: { count, failures } }) {
      const text = `${count - failures.length} of ${count} that the URL names answer`;
      return failures.length === 0 ? ok(text) : warning(`${text}; ${failures.join('; ')}`);
    },
  },
];

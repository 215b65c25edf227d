import { sayMs } from '../../errors/say.js';
import { type Check, critical, ok, warning } from '../check.js';
import type { ClockOffset } from '../soundings.js';
import type { QuorumFacts } from './facts.js';

/** How far clocks may run off each other, as a share of the ttl. */
const driftShare = 0.01;

/** What is looked at across the servers of a quorum. */
export const quorumChecks: readonly Check<QuorumFacts>[] = [
  {
    id: 'redis-quorum-nodes',
    severities: ['critical', 'warning'],
    risk: 'without a majority no lease is granted or renewed, and those that are held end',
    remedy:
      'start those that are missing; a node whose data are gone is given its memory back by the others',
    judge({ nodes: { count, failures } }) {
      const there = count - failures.length;
      const text = `${there} of ${count} answer, and take writes`;
      if (failures.length === 0) return ok(text);
      const told = `${text}; ${failures.join('; ')}`;
      return there * 2 > count ? warning(told) : critical(told);
    },
  },
  {
    id: 'redis-quorum-distinct',
    severities: ['critical'],
    risk: 'one server has two votes, so that the failure of that one loses a majority, or gives one to two',
    remedy: 'name each server once, by one address',
    judge({ runIds }) {
      const distinct = new Set(runIds).size;
      if (distinct === runIds.length) return ok('each address leads to a server of its own');
      return critical(`${runIds.length} addresses lead to ${distinct} servers`);
    },
  },
  {
    id: 'redis-quorum-odd',
    severities: ['warning'],
    risk: 'an even number bears no more failures than one node less, and has more that can fail',
    remedy: 'name an odd number of nodes, three or five',
    judge({ nodes: { count } }) {
      return count % 2 === 1 ? ok(`${count} nodes`) : warning(`${count} nodes`);
    },
  },
  {
    id: 'redis-quorum-clocks',
    severities: ['warning'],
    risk: 'when clocks are put right in one step, votes end early: with those of a majority, leases are granted twice; and nodes judge late requests differently',
    remedy:
      'run a time service (chrony, systemd-timesyncd) on all nodes: `timedatectl set-ntp true`',
    judge({ clocks }, { ttlMs }) {
      const spreadMs = surelyApartMs(clocks);
      const limitMs = Math.max(50, ttlMs * driftShare);
      if (spreadMs <= limitMs) return ok(`no more than ${sayMs(limitMs)} apart, as far as we see`);
      return warning(`${sayMs(spreadMs)} apart, and ${sayMs(limitMs)} are a hundredth of the ttl`);
    },
  },
];

/** Whatever the answers took on their way. */
function surelyApartMs(clocks: readonly ClockOffset[]): number {
  if (clocks.length === 0) return 0;
  const earliest = clocks.map(({ offsetMs, uncertaintyMs }) => offsetMs + uncertaintyMs);
  const latest = clocks.map(({ offsetMs, uncertaintyMs }) => offsetMs - uncertaintyMs);
  return Math.max(0, Math.max(...latest) - Math.min(...earliest));
}

import { counted } from '../../errors/say.js';
import { type Check, critical, ifSeen, ok, warning } from '../check.js';
import type { SentinelFacts } from './facts.js';

/** What is looked at among the sentinels of a `redis+sentinel://` URL. */
export const sentinelChecks: readonly Check<SentinelFacts>[] = [
  {
    id: 'redis-sentinels',
    severities: ['critical', 'warning'],
    risk: 'with a few more of them gone, nobody finds the master any more, or replaces it',
    remedy: 'start them, or take them off the URL if they watch it no more',
    judge({ masterName, named: { count, failures }, knowingCount }) {
      const text = `${knowingCount} of ${count} that the URL names know the master ${masterName}`;
      if (knowingCount === count) return ok(text);
      const why = failures.length === 0 ? '' : `; ${failures.join('; ')}`;
      return knowingCount * 2 > count ? warning(text + why) : critical(text + why);
    },
  },
  {
    id: 'redis-sentinel-agreement',
    severities: ['critical'],
    risk: 'two masters grant leases at the same time: two processes hold one name',
    remedy:
      'look at `SENTINEL MASTER` and the network of each sentinel; `SENTINEL RESET` one that is wrong',
    judge({ masters, runIds }) {
      if (masters.length === 0) return undefined;
      if (masters.length === 1 && runIds.length > 1)
        return critical(
          `all name ${masters[0]}, and ${runIds.length} different servers answer them there`,
          {
            remedy:
              'look again in ten seconds if it was started anew just now; else let them watch one server, by an address that is its own from everywhere (not 127.0.0.1)',
          },
        );
      if (masters.length === 1) return ok(`all take ${masters[0]} for the master`);
      return critical(`they name ${masters.join(' and ')}`);
    },
  },
  {
    id: 'redis-sentinel-count',
    severities: ['warning'],
    risk: 'when one of them is gone too, there is no majority to replace a master that failed',
    remedy: 'run three sentinels, or five, that fail independently',
    judge: ({ watch }) =>
      ifSeen(watch, ({ sentinels }) => {
        const text = `${counted(sentinels, 'sentinel')} watch it`;
        return sentinels < 3 ? warning(text) : ok(text);
      }),
  },
  {
    id: 'redis-sentinel-quorum',
    severities: ['critical', 'warning'],
    risk: 'a master that failed is never replaced',
    remedy: '`SENTINEL SET <master> quorum` to a majority of them, on each sentinel',
    judge: ({ watch }) =>
      ifSeen(watch, ({ quorum, sentinels }) => {
        const text = `the quorum is ${quorum}, of ${counted(sentinels, 'sentinel')}`;
        if (quorum > sentinels) return critical(text);
        if (quorum === sentinels && sentinels > 1)
          return warning(text, {
            risk: 'with one of them gone, a master that failed is not replaced',
          });
        return ok(text);
      }),
  },
  {
    id: 'redis-sentinel-state',
    severities: ['critical'],
    risk: 'no lease is granted or renewed until it is back, or replaced',
    remedy: 'start the master, or see why it is not replaced: `SENTINEL CKQUORUM <master>`',
    judge: ({ watch }) =>
      ifSeen(watch, ({ isDown }) =>
        isDown ? critical('a sentinel takes the master for dead') : ok('the master is alive'),
      ),
  },
];

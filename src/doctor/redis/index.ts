import { redisPromises } from '../../coordinators/redis/promises.js';
import { judgeAll } from '../check.js';
import { checksEverywhere } from '../everywhere.js';
import type { Examination, Finding, Purpose } from '../finding.js';
import type { ServerFacts } from './facts.js';
import { serverChecks } from './judge.js';
import { lookAt, openTo } from './look.js';
import { Places } from './places.js';
import { leastRights } from './rights.js';

/** What a user of the doctor's needs besides. */
const looks = ['config|get'];

/**
 * Looks at the one server of a `redis://` URL. Changes nothing there.
 *
 * @throws {OptionError} {@link TenureError} if it cannot be reached, or lets nobody in.
 */
export async function examineRedis(url: string, purpose: Purpose): Promise<Examination> {
  const places = new Places(url);
  if (places.url.topology !== 'single') throw new Error('not yet');
  const place = places.at(places.url.place);
  const link = await openTo(place, purpose);
  try {
    const facts = await lookAt(link, place, 'single', redisPromises, purpose);
    return {
      promises: redisPromises,
      findings: judgeServer(facts, purpose),
      leastRights: leastRights('single', purpose.namespace, looks),
    };
  } finally {
    link.end('it has answered');
  }
}

/** @param at named where there are several. */
export function judgeServer(facts: ServerFacts, purpose: Purpose, at?: string): Finding[] {
  return [
    ...judgeAll(checksEverywhere, facts, purpose, at),
    ...judgeAll(serverChecks, facts, purpose, at),
  ];
}

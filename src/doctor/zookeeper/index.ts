import { parseZooKeeperUrl } from '../../drivers/zookeeper/address.js';
import { judgeAll } from '../check.js';
import { checksEverywhere } from '../everywhere.js';
import type { Examination, Purpose } from '../finding.js';
import { zookeeperChecks } from './judge.js';
import { lookAtEnsemble } from './look.js';

/**
 * Looks at an ensemble. Makes no node there.
 *
 * @throws {OptionError} for a URL that cannot be used. @throws {TenureError} if no server answers, or lets nobody in.
 */
export async function examineZooKeeper(url: string, purpose: Purpose): Promise<Examination> {
  const facts = await lookAtEnsemble(parseZooKeeperUrl(url), purpose);
  return {
    promises: facts.promises,
    findings: [
      ...judgeAll(checksEverywhere, facts, purpose),
      ...judgeAll(zookeeperChecks, facts, purpose),
    ],
    leastRights: [],
  };
}

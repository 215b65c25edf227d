import { etcdPromises } from '../../coordinators/etcd/promises.js';
import { encodeName } from '../../coordinators/names.js';
import { etcdLocation } from '../../drivers/etcd/location.js';
import { judgeAll } from '../check.js';
import { checksEverywhere } from '../everywhere.js';
import type { Examination, Purpose } from '../finding.js';
import { etcdChecks } from './judge.js';
import { lookAtCluster } from './look.js';

/**
 * Looks at a cluster. Changes nothing there.
 *
 * @throws {OptionError} for a URL that cannot be used. @throws {TenureError} if no member answers, or lets nobody in.
 */
export async function examineEtcd(url: string, purpose: Purpose): Promise<Examination> {
  const facts = await lookAtCluster(etcdLocation(url, undefined), purpose);
  return {
    promises: etcdPromises,
    findings: [
      ...judgeAll(checksEverywhere, facts, purpose),
      ...judgeAll(etcdChecks, facts, purpose),
    ],
    leastRights: leastRights(purpose.namespace),
  };
}

function leastRights(namespace: string): string[] {
  const encoded = encodeName(namespace);
  const names = namespace === 'default' ? 'NAME/' : `${encoded}:`;
  const grant = 'etcdctl role grant-permission tenure readwrite --prefix=true';
  return [
    'etcdctl role add tenure',
    `${grant} :tenure/1/${encoded}/`,
    `${grant} ${names}${namespace === 'default' ? '   # for each name' : ''}`,
    'etcdctl user add tenure && etcdctl user grant-role tenure tenure',
  ];
}

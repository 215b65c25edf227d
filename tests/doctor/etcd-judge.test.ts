import { etcdPromises } from '../../src/coordinators/etcd/promises.js';
import { seen, unseen } from '../../src/doctor/check.js';
import type { Access, EndpointFacts, EtcdFacts } from '../../src/doctor/etcd/facts.js';
import { etcdChecks } from '../../src/doctor/etcd/judge.js';
import { describeVerdicts } from './verdicts.js';

const endpoint: EndpointFacts = { address: 'h1:2379', version: '3.5.28', usedBytes: 1, alarms: [] };
const gone: EndpointFacts = { address: 'h2:2379', failure: 'h2:2379: nothing listens there' };
const voter = { name: 'a', isLearner: false };
const access: Access = {
  ...{ isOn: true, hasCertificate: false, user: 'tenure', mayWrite: true, isRoot: false },
};
const facts: EtcdFacts = {
  promises: etcdPromises,
  endpoints: [endpoint, endpoint, endpoint],
  members: seen([voter, voter, voter]),
  isLocal: false,
  access: seen(access),
};
const at = (other: Partial<EndpointFacts>): EtcdFacts => {
  return { ...facts, endpoints: [endpoint, { ...endpoint, ...other }] };
};
const alone = (one: EndpointFacts): EtcdFacts => ({ ...facts, endpoints: [one] });
const members = (count: number): EtcdFacts => {
  return { ...facts, members: seen(Array.from({ length: count }, () => voter)) };
};
const may = (other: Partial<Access>, isLocal = false): EtcdFacts => {
  return { ...facts, isLocal, access: seen({ ...access, ...other }) };
};
/** Each as its cluster, its own id, and the ids of the members that it knows: `a` and `b` if none are given. */
const cluster = (...members: readonly string[]): EtcdFacts => ({
  ...facts,
  endpoints: members.map((text, index) => {
    const [clusterId = '', memberId = '', ...knows] = text.split(' ');
    const ids = { clusterId, memberId, knows: knows.length > 0 ? knows : ['a', 'b'] };
    return { ...endpoint, ...ids, address: `h${index}` };
  }),
});
const hidden = unseen('no majority answers', 'bring the other members back first');
const withoutGateway = { address: 'h1:2379', isWithoutGateway: true };
const quota = 2 * 1024 ** 3;

describeVerdicts('what is looked at on etcd', etcdChecks, [
  { id: 'etcd-gateway', verdict: 'ok', facts },
  { id: 'etcd-gateway', verdict: 'critical', facts: alone(withoutGateway), says: 'h1:2379' },
  { id: 'etcd-gateway', verdict: undefined, facts: alone(gone) },
  { id: 'etcd-quorum', verdict: 'ok', facts },
  { id: 'etcd-quorum', verdict: 'critical', facts: { ...facts, quorumFailure: 'no answer' } },
  { id: 'etcd-cluster', verdict: 'ok', facts: cluster('1 a', '1 b'), says: '2 members of one' },
  { id: 'etcd-cluster', verdict: 'ok', facts: alone(endpoint), says: '1 member was asked' },
  { id: 'etcd-cluster', verdict: undefined, facts: alone(gone) },
  {
    ...{ id: 'etcd-cluster', verdict: 'critical', says: '2 clusters: h0 and h1' },
    facts: cluster('1 a', '2 b'),
  },
  {
    ...{ id: 'etcd-cluster', verdict: 'critical', says: 'h0, h1 answer as one member' },
    facts: cluster('1 a', '1 a'),
  },
  {
    ...{ id: 'etcd-cluster', verdict: 'critical', says: 'h0, h1 and h2 have lists' },
    facts: cluster('1 a', '1 b', '1 c c'),
  },
  { id: 'etcd-members', verdict: 'ok', facts, says: '3 of 3' },
  {
    ...{ id: 'etcd-members', verdict: 'warning', says: '1 of 2 that the URL names answer; h2' },
    facts: { ...facts, endpoints: [endpoint, gone] },
  },
  { id: 'etcd-size', verdict: 'ok', facts },
  { id: 'etcd-size', verdict: 'ok', facts: members(5) },
  { id: 'etcd-size', verdict: 'warning', facts: members(1), says: '1 voting member' },
  { id: 'etcd-size', verdict: 'warning', facts: members(4) },
  {
    ...{ id: 'etcd-size', verdict: 'ok' },
    facts: { ...facts, members: seen([voter, voter, voter, { name: 'b', isLearner: true }]) },
  },
  { id: 'etcd-size', verdict: 'unseen', facts: { ...facts, members: hidden } },
  { id: 'etcd-url', verdict: 'ok', facts },
  { id: 'etcd-url', verdict: 'warning', facts: members(5), says: '3 of 5 members' },
  { id: 'etcd-alarm', verdict: 'ok', facts },
  { id: 'etcd-alarm', verdict: 'critical', facts: at({ alarms: ['NOSPACE'] }), says: 'NOSPACE' },
  { id: 'etcd-alarm', verdict: undefined, facts: alone(gone) },
  { id: 'etcd-space', verdict: 'ok', facts: at({ usedBytes: quota * 0.8 }) },
  { id: 'etcd-space', verdict: 'warning', facts: at({ usedBytes: quota * 0.81 }), says: 'usual' },
  { id: 'etcd-space', verdict: 'ok', facts: at({ usedBytes: quota, quotaBytes: 4 * quota }) },
  { id: 'etcd-space', verdict: 'warning', facts: at({ usedBytes: 90, quotaBytes: 100 }) },
  { id: 'etcd-space', verdict: undefined, facts: alone(gone) },
  { id: 'etcd-version', verdict: 'ok', facts },
  { id: 'etcd-version', verdict: 'ok', facts: at({ version: '3.4.42' }) },
  { id: 'etcd-version', verdict: 'ok', facts: at({ version: '3.6.9' }) },
  { id: 'etcd-version', verdict: 'ok', facts: at({ version: '3.7.0' }) },
  { id: 'etcd-version', verdict: 'warning', facts: at({ version: '3.4.41' }), says: '3.4.41' },
  { id: 'etcd-version', verdict: 'warning', facts: at({ version: '3.5.27' }) },
  { id: 'etcd-version', verdict: 'warning', facts: at({ version: '3.6.8' }) },
  { id: 'etcd-version', verdict: 'critical', facts: at({ version: '3.3.27' }) },
  { id: 'etcd-version', verdict: undefined, facts: alone(gone) },
  { id: 'etcd-ttl-floor', verdict: 'ok', facts, ttlMs: 2_000 },
  { id: 'etcd-ttl-floor', verdict: 'warning', facts, ttlMs: 1_999 },
  { id: 'etcd-ttl-floor', verdict: 'note', facts, ttlMs: 2_001, says: 'taken for 3 s' },
  { id: 'etcd-auth', verdict: 'ok', facts },
  { id: 'etcd-auth', verdict: 'ok', facts: may({ isOn: false, hasCertificate: true }) },
  { id: 'etcd-auth', verdict: 'warning', facts: may({ isOn: false }) },
  { id: 'etcd-auth', verdict: 'note', facts: may({ isOn: false }, true) },
  { id: 'etcd-auth', verdict: 'unseen', facts: { ...facts, access: hidden } },
  { id: 'etcd-rights', verdict: 'ok', facts, says: 'user tenure may write' },
  { id: 'etcd-rights', verdict: 'ok', facts: may({ isOn: false }), says: 'everybody' },
  { id: 'etcd-rights', verdict: 'critical', facts: may({ mayWrite: false }) },
  { id: 'etcd-rights', verdict: undefined, facts: may({ mayWrite: undefined }) },
  { id: 'etcd-rights-broad', verdict: 'ok', facts },
  { id: 'etcd-rights-broad', verdict: 'warning', facts: may({ isRoot: true }) },
  { id: 'etcd-rights-broad', verdict: undefined, facts: may({ isOn: false }) },
]);

import { describe, expect, it } from 'vitest';
import { zookeeperPromises } from '../../src/coordinators/zookeeper/promises.js';
import { seen, unseen } from '../../src/doctor/check.js';
import type { ServerFacts, ZooKeeperFacts } from '../../src/doctor/zookeeper/facts.js';
import { zookeeperChecks } from '../../src/doctor/zookeeper/judge.js';
import { readSrvr } from '../../src/doctor/zookeeper/srvr.js';
import { describeVerdicts } from './verdicts.js';

const server: ServerFacts = { address: 'h1:2181', version: '3.8.0', mode: 'follower' };
const gone: ServerFacts = { address: 'h2:2181', failure: 'h2:2181: nothing listens there' };
const facts: ZooKeeperFacts = {
  promises: zookeeperPromises(4_000, 40_000),
  ...{ servers: [server, server, server], isServing: true, grantedMs: 30_000, voters: seen(3) },
  ...{ chroot: '/apps', isChrootThere: true, login: { user: 'tenure' }, isLocal: false },
  mayWrite: true,
};
/** Each as its mode, and the servers that it knows. */
const ensemble = (...servers: readonly string[]): ZooKeeperFacts => ({
  ...facts,
  servers: servers.map((text, index) => {
    const [mode, ...known] = text.split(' ');
    return { ...server, address: `h${index}`, mode, ensemble: known };
  }),
});
const { grantedMs: _, mayWrite: __, isChrootThere: ___, ...withoutSession } = facts;
const idle: ZooKeeperFacts = {
  ...withoutSession,
  ...{ servers: [gone], isServing: false, voters: unseen('no server serves', 'bring them back') },
};

describeVerdicts('what is looked at on ZooKeeper', zookeeperChecks, [
  { id: 'zookeeper-quorum', verdict: 'ok', facts },
  { id: 'zookeeper-quorum', verdict: 'critical', facts: idle },
  { id: 'zookeeper-ensemble', verdict: 'ok', facts: ensemble('leader a b', 'follower a b') },
  { id: 'zookeeper-ensemble', verdict: 'ok', facts: ensemble('standalone') },
  { id: 'zookeeper-ensemble', verdict: undefined, facts: idle },
  {
    ...{ id: 'zookeeper-ensemble', verdict: 'critical', says: '(standalone): h0, h1' },
    facts: ensemble('standalone', 'standalone'),
  },
  {
    ...{ id: 'zookeeper-ensemble', verdict: 'critical', says: '(standalone): h1' },
    facts: ensemble('leader a b', 'unseen'),
  },
  {
    ...{ id: 'zookeeper-ensemble', verdict: 'critical', says: 'leads: h0, h1' },
    facts: ensemble('leader a b', 'leader a b'),
  },
  {
    ...{ id: 'zookeeper-ensemble', verdict: 'critical', says: '2 different lists' },
    facts: ensemble('leader a b', 'follower a c'),
  },
  { id: 'zookeeper-session', verdict: 'ok', facts, says: '30 s, as asked for' },
  { id: 'zookeeper-session', verdict: 'critical', facts, ttlMs: 40_000, says: '30 s are granted' },
  { id: 'zookeeper-session', verdict: 'warning', facts, ttlMs: 4_000 },
  { id: 'zookeeper-session', verdict: undefined, facts: idle },
  { id: 'zookeeper-servers', verdict: 'ok', facts },
  {
    ...{
      id: 'zookeeper-servers',
      verdict: 'warning',
      says: '1 of 2 that the URL names answer; h2',
    },
    facts: { ...facts, servers: [server, gone] },
  },
  { id: 'zookeeper-size', verdict: 'ok', facts },
  { id: 'zookeeper-size', verdict: 'ok', facts: { ...facts, voters: seen(5) } },
  { id: 'zookeeper-size', verdict: 'warning', facts: { ...facts, voters: seen(0) }, says: 'alone' },
  { id: 'zookeeper-size', verdict: 'warning', facts: { ...facts, voters: seen(2) } },
  { id: 'zookeeper-size', verdict: 'warning', facts: { ...facts, voters: seen(4) } },
  { id: 'zookeeper-size', verdict: 'unseen', facts: idle },
  { id: 'zookeeper-url', verdict: 'ok', facts },
  { id: 'zookeeper-url', verdict: 'ok', facts: { ...facts, servers: [server], voters: seen(0) } },
  {
    ...{ id: 'zookeeper-url', verdict: 'warning', says: '1 of 3' },
    facts: { ...facts, servers: [server] },
  },
  { id: 'zookeeper-version', verdict: 'ok', facts },
  {
    ...{ id: 'zookeeper-version', verdict: 'critical' },
    facts: { ...facts, servers: [server, { ...server, version: '3.4.14' }] },
  },
  {
    ...{ id: 'zookeeper-version', verdict: 'unseen' },
    facts: { ...facts, servers: [{ address: 'h1:2181' }] },
  },
  { id: 'zookeeper-version', verdict: undefined, facts: idle },
  { id: 'zookeeper-chroot', verdict: 'ok', facts },
  { id: 'zookeeper-chroot', verdict: 'ok', facts: { ...facts, chroot: '' }, says: 'none' },
  { id: 'zookeeper-chroot', verdict: 'note', facts: { ...facts, isChrootThere: false } },
  { id: 'zookeeper-chroot', verdict: undefined, facts: idle },
  { id: 'zookeeper-login', verdict: 'ok', facts },
  { id: 'zookeeper-login', verdict: 'warning', facts: { ...facts, login: 'none' } },
  { id: 'zookeeper-login', verdict: 'note', facts: { ...facts, login: 'none', isLocal: true } },
  { id: 'zookeeper-rights', verdict: 'ok', facts },
  { id: 'zookeeper-rights', verdict: 'critical', facts: { ...facts, mayWrite: false } },
  { id: 'zookeeper-rights', verdict: undefined, facts: idle },
]);

describe('the answer to srvr', () => {
  it('is read', () => {
    const text = 'Zookeeper version: 3.8.0-5a02a05, built on 2023\nMode: follower\n';
    expect(readSrvr(text)).toEqual({ version: '3.8.0', mode: 'follower' });
    expect(readSrvr('srvr is not executed because it is not in the whitelist.')).toEqual({
      version: undefined,
      mode: undefined,
    });
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { redisPromises } from '../../src/coordinators/redis/promises.js';
import { seen, unseen } from '../../src/doctor/check.js';
import type { Info, ServerFacts, Settings } from '../../src/doctor/redis/facts.js';
import { features } from '../../src/doctor/redis/feature-rights.js';
import { serverChecks } from '../../src/doctor/redis/judge.js';
import { parseInfo } from '../../src/doctor/redis/look.js';
import {
  furtherRights,
  leaseRights,
  leastRights,
  type Rights,
} from '../../src/doctor/redis/rights.js';
import { documentedRights } from '../support/documented-rights.js';
import { describeVerdicts } from './verdicts.js';

const info: Info = {
  ...{ version: '7.0.15', runId: 'a', role: 'master', mode: 'standalone', isLoading: false },
  ...{ usedBytes: 1_000, maxmemoryBytes: 0, maxmemoryPolicy: 'noeviction' },
  ...{ appendOnlyFile: true, persistenceHealthy: true, clients: 1, maxClients: 100 },
  replicas: [],
};
const settings: Settings = {
  ...{ appendfsync: 'always', save: '', minReplicasToWrite: 0, minReplicasMaxLagS: 10 },
};
const rights: Rights = {
  missing: [],
  isEnough: true,
  needless: [],
  reachesOtherKeys: false,
  missingOf: {},
};
const facts: ServerFacts = {
  promises: redisPromises,
  ...{ shape: 'single', address: 'redis://h:6379/0', hasPassword: true, isLocal: false },
  ...{ user: 'tenure', info: seen(info), settings: seen(settings), rights: seen(rights) },
  write: 'taken',
};
const withInfo = (other: Partial<Info>, besides: Partial<ServerFacts> = {}): ServerFacts => {
  return { ...facts, info: seen({ ...info, ...other }), ...besides };
};
const withRights = (other: Partial<Rights>, besides: Partial<ServerFacts> = {}): ServerFacts => {
  return { ...facts, rights: seen({ ...rights, ...other }), ...besides };
};
const withSettings = (other: Partial<Settings>): Partial<ServerFacts> => {
  return { settings: seen({ ...settings, ...other }) };
};
const refusing = (refusal: string): ServerFacts => ({ ...facts, write: { refusal } });
const replica = { address: '10.0.0.2:6379', isOnline: true, lagS: 0 };
const offline = { ...replica, isOnline: false };
const denied = unseen('the user may not send CONFIG GET', 'ACL SETUSER <user> +config|get');
const sentinel = { shape: 'sentinel' } as const;
const quorum = { shape: 'quorum' } as const;
const onMachine = { isLocal: true };

describeVerdicts('what is looked at on a Redis server', serverChecks, [
  { id: 'redis-version', verdict: 'ok', facts },
  { id: 'redis-version', verdict: 'critical', facts: withInfo({ version: '6.2.14' }) },
  { id: 'redis-version', verdict: 'unseen', facts: { ...facts, info: denied } },
  { id: 'redis-role', verdict: 'ok', facts },
  { id: 'redis-role', verdict: 'ok', facts: withInfo({ role: '' }) },
  { id: 'redis-role', verdict: 'critical', facts: withInfo({ role: 'slave' }), says: 'replica' },
  { id: 'redis-role', verdict: 'critical', facts: withInfo({ mode: 'sentinel' }) },
  { id: 'redis-role', verdict: 'warning', facts: withInfo({ mode: 'cluster' }), says: 'a node' },
  {
    id: 'redis-role',
    verdict: 'ok',
    facts: { ...withInfo({ mode: 'cluster' }), shape: 'cluster' },
  },

  { id: 'redis-role', verdict: 'warning', facts: withInfo({ mode: 'cluster' }, quorum) },
  { id: 'redis-role', verdict: 'critical', facts: { ...facts, shape: 'cluster' }, says: 'no node' },

  { id: 'redis-refusal', verdict: 'ok', facts },
  { id: 'redis-refusal', verdict: undefined, facts: { ...facts, write: 'denied' } },
  { id: 'redis-refusal', verdict: 'critical', facts: refusing('NOREPLICAS Not enough') },
  { id: 'redis-refusal', verdict: 'critical', facts: refusing('ERR unknown command') },
  { id: 'redis-refusal', verdict: 'warning', facts: { ...refusing('OOM command'), ...quorum } },

  { id: 'redis-eviction', verdict: 'ok', facts },
  {
    ...{ id: 'redis-eviction', verdict: 'critical', says: 'allkeys-lru, maxmemory 1 KiB' },
    facts: withInfo({ maxmemoryPolicy: 'allkeys-lru', maxmemoryBytes: 1_024 }),
  },
  {
    ...{ id: 'redis-eviction', verdict: 'critical' },
    facts: withInfo({ maxmemoryPolicy: 'volatile-ttl', maxmemoryBytes: 1 }),
  },
  {
    ...{ id: 'redis-eviction', verdict: 'warning' },
    facts: withInfo({ maxmemoryPolicy: 'allkeys-lru', maxmemoryBytes: 0 }),
  },
  {
    // A service that hides its limit has one.
    ...{ id: 'redis-eviction', verdict: 'critical' },
    facts: withInfo({ maxmemoryPolicy: 'allkeys-lru', maxmemoryBytes: undefined }),
  },
  { id: 'redis-eviction', verdict: undefined, facts: withInfo({ maxmemoryPolicy: '' }) },
  { id: 'redis-memory', verdict: 'ok', facts },
  { id: 'redis-memory', verdict: 'ok', facts: withInfo({ usedBytes: 90, maxmemoryBytes: 100 }) },
  {
    ...{ id: 'redis-memory', verdict: 'warning' },
    facts: withInfo({ usedBytes: 91, maxmemoryBytes: 100 }),
  },
  {
    ...{ id: 'redis-memory', verdict: 'critical', says: '101 MiB of 100 MiB' },
    facts: withInfo({ usedBytes: 101 * 1024 ** 2, maxmemoryBytes: 100 * 1024 ** 2 }),
  },
  {
    ...{ id: 'redis-memory', verdict: 'warning' },
    facts: withInfo({ usedBytes: 101, maxmemoryBytes: 100, maxmemoryPolicy: 'allkeys-lru' }),
  },
  { id: 'redis-memory', verdict: undefined, facts: withInfo({ maxmemoryBytes: undefined }) },
  { id: 'redis-clients', verdict: 'ok', facts: withInfo({ clients: 90 }) },
  { id: 'redis-clients', verdict: 'warning', facts: withInfo({ clients: 91 }) },
  { id: 'redis-clients', verdict: undefined, facts: withInfo({ maxClients: undefined }) },

  { id: 'redis-persistence', verdict: 'ok', facts },
  {
    ...{ id: 'redis-persistence', verdict: 'critical', says: 'nothing on disk' },
    facts: withInfo({ appendOnlyFile: false }),
  },
  {
    ...{ id: 'redis-persistence', verdict: 'warning', says: 'snapshots alone' },
    facts: withInfo({ appendOnlyFile: false }, withSettings({ save: '3600 1' })),
  },
  {
    ...{ id: 'redis-persistence', verdict: 'note', says: 'everysec' },
    facts: { ...facts, ...withSettings({ appendfsync: 'everysec' }) },
  },
  {
    ...{ id: 'redis-persistence', verdict: 'warning' },
    facts: { ...facts, ...quorum, ...withSettings({ appendfsync: 'everysec' }) },
  },
  {
    ...{ id: 'redis-persistence', verdict: 'warning' },
    facts: { ...facts, ...withSettings({ appendfsync: 'no' }) },
  },
  { id: 'redis-persistence', verdict: 'unseen', facts: { ...facts, settings: denied } },
  { id: 'redis-persistence', verdict: undefined, facts: withInfo({ appendOnlyFile: undefined }) },
  { id: 'redis-writes', verdict: 'ok', facts },
  { id: 'redis-writes', verdict: 'critical', facts: withInfo({ persistenceHealthy: false }) },

  { id: 'redis-replicas', verdict: 'ok', facts, says: 'none' },
  {
    ...{
      id: 'redis-replicas',
      verdict: 'critical',
      says: 'min-replicas-to-write 3, and 0 replicas',
    },
    facts: { ...facts, ...withSettings({ minReplicasToWrite: 3 }) },
  },
  {
    ...{
      id: 'redis-replicas',
      verdict: 'critical',
      says: 'and 1 replica no more than 10 s behind',
    },
    facts: withInfo(
      { replicas: [replica, offline, { ...replica, lagS: 11 }] },
      { ...withSettings({ minReplicasToWrite: 2 }), ...sentinel },
    ),
  },
  {
    ...{ id: 'redis-replicas', verdict: 'ok', says: 'none' },
    facts: { ...facts, ...withSettings({ minReplicasToWrite: 1, minReplicasMaxLagS: 0 }) },
  },
  { id: 'redis-replicas', verdict: 'ok', facts: { ...facts, ...quorum }, says: 'in a quorum' },
  { id: 'redis-replicas', verdict: 'warning', facts: withInfo({ replicas: [replica] }, quorum) },
  {
    id: 'redis-replicas',
    verdict: 'warning',
    facts: { ...facts, ...sentinel },
    says: 'no replica',
  },
  {
    ...{ id: 'redis-replicas', verdict: 'warning', says: 'none of its replicas is online' },
    facts: withInfo({ replicas: [offline] }, sentinel),
  },
  {
    ...{ id: 'redis-replicas', verdict: 'critical', says: '1 replica online' },
    facts: withInfo({ replicas: [replica, offline] }),
  },
  {
    ...{ id: 'redis-replicas', verdict: 'ok', says: 'min-replicas-max-lag 10 s' },
    facts: withInfo({ replicas: [replica] }, withSettings({ minReplicasToWrite: 1 })),
  },
  {
    ...{ id: 'redis-replicas', verdict: 'note' },
    facts: withInfo(
      { replicas: [replica] },
      { ...withSettings({ minReplicasToWrite: 1 }), ...sentinel },
    ),
  },
  {
    ...{ id: 'redis-replicas', verdict: 'warning', ttlMs: 29_000 },
    facts: withInfo({ replicas: [replica] }, withSettings({ minReplicasToWrite: 1 })),
  },
  {
    // 0: however far behind they are.
    ...{ id: 'redis-replicas', verdict: 'warning' },
    facts: withInfo(
      { replicas: [replica] },
      withSettings({ minReplicasToWrite: 1, minReplicasMaxLagS: 0 }),
    ),
  },
  {
    ...{ id: 'redis-replicas', verdict: 'unseen' },
    facts: withInfo({ replicas: [replica] }, { settings: denied }),
  },

  { id: 'redis-rights', verdict: 'ok', facts },
  {
    ...{ id: 'redis-rights', verdict: 'critical', says: 'may not: set' },
    facts: withRights({ missing: ['set'], isEnough: false }),
  },
  { id: 'redis-rights', verdict: 'warning', facts: withRights({ missing: ['publish'] }) },
  { id: 'redis-rights', verdict: 'unseen', facts: { ...facts, rights: denied } },
  ...features.flatMap((feature) => [
    {
      ...{ id: `redis-rights-${feature}`, verdict: 'ok' as const },
      facts: withRights({ missingOf: { [feature]: [] } }),
    },
    {
      ...{ id: `redis-rights-${feature}`, verdict: 'note' as const, says: 'for want of +type' },
      facts: withRights({ missingOf: { [feature]: ['+type'] } }),
    },
    // A quorum keeps leases alone; and whom leases are refused is told that.
    { id: `redis-rights-${feature}`, verdict: undefined, facts },
    {
      ...{ id: `redis-rights-${feature}`, verdict: undefined },
      facts: withRights({ isEnough: false, missingOf: { [feature]: ['+type'] } }),
    },
  ]),
  { id: 'redis-rights-broad', verdict: 'ok', facts },
  {
    ...{ id: 'redis-rights-broad', verdict: 'warning', says: 'CONFIG SET' },
    facts: withRights({ needless: ['config|set'] }),
  },
  {
    ...{ id: 'redis-rights-broad', verdict: 'note', says: 'keys of others' },
    facts: withRights({ reachesOtherKeys: true }, onMachine),
  },
  {
    ...{ id: 'redis-rights-broad', verdict: undefined },
    facts: withRights({ missing: ['eval'], isEnough: false }),
  },
  { id: 'redis-login', verdict: 'ok', facts },
  { id: 'redis-login', verdict: 'warning', facts: { ...facts, hasPassword: false } },
  { id: 'redis-login', verdict: 'note', facts: { ...facts, hasPassword: false, ...onMachine } },
]);

describe('the rights on Redis', () => {
  const protocol = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');
  const documented = /^ACL SETUSER .*$/m.exec(protocol)?.[0] ?? '';

  it('are those of the protocol page', () => {
    const words = documented.split(' ').filter((word) => word.startsWith('+'));
    expect(leaseRights.map(({ command }) => `+${command}`)).toEqual(words);
  });

  it.each(features)('for %s are those of the protocol page', (feature) => {
    const words = documentedRights(feature)
      .split(' ')
      .filter((word) => /^[+~]/.test(word));
    const printed = (furtherRights('single', 'x')[feature] ?? []).join(' ').split(' ');
    // The page tells of all namespaces; keys and channels of leases are there already.
    const short = printed.map((word) => word.replace(/(tenure[a-z-]*:)x(?:\}:|:)\*$/, '$1*'));
    expect(words).toEqual(short.filter((word) => /^[+~]/.test(word) && word !== '~{tenure:*'));
  });

  it('are printed in lines that fit, for this namespace alone', () => {
    const lines = leastRights('cluster', 'billing', ['config|get']);
    expect(lines.filter((line) => line.length > 78)).toEqual([]);
    expect(lines.join(' ')).toContain('~{tenure:billing}:*');
    expect(lines.join(' ')).toContain('+cluster|slots +config|get');
  });
});

describe('the reply of INFO', () => {
  it('is read with its replicas', () => {
    const text = [
      '# Server',
      'redis_version:7.0.15',
      'role:master',
      'aof_enabled:1',
      'aof_last_write_status:err',
      'maxmemory:100',
      'slave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag=3',
      'slave1:ip=10.0.0.3,port=6379,state=wait_bgsave,offset=0,lag=0',
    ].join('\r\n');
    expect(parseInfo(text)).toMatchObject({
      ...{ version: '7.0.15', role: 'master', appendOnlyFile: true, maxmemoryBytes: 100 },
      ...{ persistenceHealthy: false, usedBytes: undefined, maxmemoryPolicy: '' },
      replicas: [
        { address: '10.0.0.2:6379', isOnline: true, lagS: 3 },
        { address: '10.0.0.3:6379', isOnline: false, lagS: 0 },
      ],
    });
  });
});

import { seen, unseen } from '../../src/doctor/check.js';
import type {
  ClusterFacts,
  ClusterInfo,
  QuorumFacts,
  SentinelFacts,
  SentinelWatch,
} from '../../src/doctor/redis/facts.js';
import { clusterChecks } from '../../src/doctor/redis/judge-cluster.js';
import { quorumChecks } from '../../src/doctor/redis/judge-quorum.js';
import { sentinelChecks } from '../../src/doctor/redis/judge-sentinels.js';
import { describeVerdicts } from './verdicts.js';

const three = { count: 3, failures: [] };
const denied = unseen('the user may not send it', 'grant it');

const watch: SentinelWatch = { runId: 'a', quorum: 2, sentinels: 3, isDown: false };
const sentinels: SentinelFacts = {
  ...{ masterName: 'main', named: three, knowingCount: 3, masters: ['10.0.0.1:6379'] },
  ...{ runIds: ['a'], watch: seen(watch) },
};
const watched = (other: Partial<SentinelWatch>): SentinelFacts => {
  return { ...sentinels, watch: seen({ ...watch, ...other }) };
};
const missing = (count: number): SentinelFacts => ({
  ...sentinels,
  named: { count: 3, failures: Array.from({ length: count }, (_, index) => `h${index}: gone`) },
  knowingCount: 3 - count,
});

describeVerdicts('what is looked at among sentinels', sentinelChecks, [
  { id: 'redis-sentinels', verdict: 'ok', facts: sentinels, says: '3 of 3' },
  { id: 'redis-sentinels', verdict: 'warning', facts: missing(1), says: '2 of 3' },
  { id: 'redis-sentinels', verdict: 'critical', facts: missing(2), says: 'h0: gone; h1: gone' },
  { id: 'redis-sentinels', verdict: 'warning', facts: { ...sentinels, knowingCount: 2 } },
  { id: 'redis-sentinel-agreement', verdict: 'ok', facts: sentinels },
  {
    ...{ id: 'redis-sentinel-agreement', verdict: 'critical', says: 'a:1 and b:2' },
    facts: { ...sentinels, masters: ['a:1', 'b:2'] },
  },
  {
    ...{ id: 'redis-sentinel-agreement', verdict: 'critical', says: '2 different servers' },
    facts: { ...sentinels, runIds: ['a', 'b'] },
  },
  { id: 'redis-sentinel-agreement', verdict: undefined, facts: { ...sentinels, masters: [] } },
  { id: 'redis-sentinel-count', verdict: 'ok', facts: sentinels },
  { id: 'redis-sentinel-count', verdict: 'warning', facts: watched({ sentinels: 2 }) },
  { id: 'redis-sentinel-count', verdict: 'unseen', facts: { ...sentinels, watch: denied } },
  { id: 'redis-sentinel-quorum', verdict: 'ok', facts: sentinels },
  { id: 'redis-sentinel-quorum', verdict: 'ok', facts: watched({ quorum: 1, sentinels: 1 }) },
  { id: 'redis-sentinel-quorum', verdict: 'warning', facts: watched({ quorum: 3 }) },
  { id: 'redis-sentinel-quorum', verdict: 'critical', facts: watched({ quorum: 4 }) },
  { id: 'redis-sentinel-state', verdict: 'ok', facts: sentinels },
  { id: 'redis-sentinel-state', verdict: 'critical', facts: watched({ isDown: true }) },
]);

const whole: ClusterInfo = { state: 'ok', slotsAssigned: 16_384, slotsOk: 16_384, size: 3 };
const owner = '10.0.0.1:6379';
const cluster: ClusterFacts = {
  ...{ nodes: three, strangers: [], info: seen(whole), slot: 7, owner, owners: [owner] },
};
const noCluster: ClusterFacts = { nodes: three, strangers: ['h:1'], slot: 7, owners: [] };
const clusterWith = (other: Partial<ClusterInfo>): ClusterFacts => {
  return { ...cluster, info: seen({ ...whole, ...other }) };
};

describeVerdicts('what is looked at in a cluster', clusterChecks, [
  { id: 'redis-cluster-mode', verdict: 'ok', facts: cluster },
  { id: 'redis-cluster-mode', verdict: 'critical', facts: noCluster, says: 'h:1' },
  {
    ...{ id: 'redis-cluster-mode', verdict: 'critical', says: 'h:1' },
    facts: { ...cluster, strangers: ['h:1'] },
  },
  { id: 'redis-cluster-agreement', verdict: 'ok', facts: cluster },
  {
    ...{ id: 'redis-cluster-agreement', verdict: 'critical', says: 'a:1 and b:2' },
    facts: { ...cluster, owners: ['a:1', 'b:2'] },
  },
  { id: 'redis-cluster-agreement', verdict: undefined, facts: noCluster },
  { id: 'redis-cluster-state', verdict: undefined, facts: noCluster },
  { id: 'redis-cluster-slot', verdict: undefined, facts: noCluster },
  { id: 'redis-cluster-size', verdict: undefined, facts: noCluster },
  { id: 'redis-cluster-state', verdict: 'ok', facts: cluster },
  { id: 'redis-cluster-state', verdict: 'critical', facts: clusterWith({ state: 'fail' }) },
  { id: 'redis-cluster-state', verdict: 'critical', facts: clusterWith({ slotsAssigned: 16_383 }) },
  { id: 'redis-cluster-state', verdict: 'critical', facts: clusterWith({ slotsOk: 10_000 }) },
  { id: 'redis-cluster-state', verdict: 'unseen', facts: { ...cluster, info: denied } },
  { id: 'redis-cluster-slot', verdict: 'ok', facts: cluster, says: 'slot 7' },
  { id: 'redis-cluster-slot', verdict: 'critical', facts: { ...cluster, owner: undefined } },
  { id: 'redis-cluster-size', verdict: 'ok', facts: cluster },
  { id: 'redis-cluster-size', verdict: 'warning', facts: clusterWith({ size: 2 }) },
  { id: 'redis-cluster-nodes', verdict: 'ok', facts: cluster },
  {
    ...{
      id: 'redis-cluster-nodes',
      verdict: 'warning',
      says: '1 of 2 that the URL names answer; h',
    },
    facts: { ...cluster, nodes: { count: 2, failures: ['h: gone'] } },
  },
]);

const clock = (offsetMs: number) => ({ offsetMs, uncertaintyMs: 10 });
const quorum: QuorumFacts = {
  ...{ nodes: three, runIds: ['a', 'b', 'c'], clocks: [clock(0), clock(20), clock(-20)] },
};
const gone = (count: number): QuorumFacts => {
  const failures = Array.from({ length: count }, () => 'h: gone');
  return { ...quorum, nodes: { count: 3, failures } };
};

describeVerdicts('what is looked at across a quorum', quorumChecks, [
  { id: 'redis-quorum-nodes', verdict: 'ok', facts: quorum, says: '3 of 3 answer, and take' },
  { id: 'redis-quorum-nodes', verdict: 'warning', facts: gone(1), says: '2 of 3' },
  { id: 'redis-quorum-nodes', verdict: 'critical', facts: gone(2) },
  { id: 'redis-quorum-distinct', verdict: 'ok', facts: quorum },
  {
    ...{ id: 'redis-quorum-distinct', verdict: 'critical', says: '3 addresses lead to 2 servers' },
    facts: { ...quorum, runIds: ['a', 'b', 'a'] },
  },
  { id: 'redis-quorum-odd', verdict: 'ok', facts: quorum },
  {
    id: 'redis-quorum-odd',
    verdict: 'warning',
    facts: { ...quorum, nodes: { ...three, count: 4 } },
  },
  { id: 'redis-quorum-clocks', verdict: 'ok', facts: quorum },
  { id: 'redis-quorum-clocks', verdict: 'ok', facts: { ...quorum, clocks: [] } },
  {
    ...{ id: 'redis-quorum-clocks', verdict: 'ok' },
    facts: { ...quorum, clocks: [clock(0), clock(320)] },
  },
  {
    ...{ id: 'redis-quorum-clocks', verdict: 'warning', says: '301 ms apart' },
    facts: { ...quorum, clocks: [clock(0), clock(321)] },
  },
  {
    ...{ id: 'redis-quorum-clocks', verdict: 'warning', ttlMs: 1_000 },
    facts: { ...quorum, clocks: [clock(0), clock(80)] },
  },
]);

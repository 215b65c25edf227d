import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { certificatesIn } from './certificates.js';
import { doctor, doctorText } from './doctor.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** 3.4.23 is what the tests run on, and it has the defect of old versions: no run is without that one. */
const known = ['etcd-version'];

describe('the doctor on an etcd cluster of three', () => {
  let cluster: EtcdCluster;
  let url: string;
  const as = (login: string) => cluster.url.replace('//', `//${login}@`);

  beforeAll(async () => {
    cluster = await startEtcd({ members: 3 });
    url = cluster.url;
  });
  afterAll(() => cluster.stop());

  it('warns of the version, and finds nothing else', async () => {
    const { status, of, find } = await doctor(url);
    expect(of('critical')).toEqual([]);
    expect(of('warning')).toEqual(known);
    expect(find('etcd-version').seen).toBe('etcd 3.4.23');
    expect(find('etcd-cluster').seen).toBe('3 members of one cluster');
    expect(of('note')).toEqual(['etcd-auth']);
    expect(find('clock-offset').severity).toBe('ok');
    expect(status).toBe(0);
    expect((await doctor(url, '--strict')).status).toBe(1);
  });

  it('changes nothing there', async () => {
    const revision = async () =>
      JSON.parse(await cluster.etcdctl('get', 'x', '-w', 'json')).header.revision;
    const before = await revision();
    await doctor(url, '--namespace', 'billing');
    expect(await revision()).toBe(before);
  });

  it('says which ttl it can have', async () => {
    expect((await doctor(url, '--ttl', '1500ms')).of('warning')).toContain('etcd-ttl-floor');
    expect((await doctor(url, '--ttl', '500ms')).of('critical')).toContain('ttl');
  });

  it('tells a URL that does not name all members', async () => {
    const [first = ''] = url.split(',');
    const { of, find } = await doctor(first);
    expect(of('warning')).toEqual(['etcd-url', ...known]);
    expect(find('etcd-url').seen).toBe('the URL names 1 of 3 members');
  });

  it('looks at the rights of a user, which are those that it printed', async () => {
    const { leastRights } = await doctor(url, '--namespace', 'billing');
    const etcdctl = (...words: string[]) => cluster.etcdctl(...words);
    await etcdctl('user', 'add', 'root:r00t');
    await etcdctl('user', 'add', 'tenure:hunter2-secret');
    for (const line of leastRights.filter((one) => one.startsWith('etcdctl role')))
      await etcdctl(...line.split(' ').slice(1));
    await etcdctl('user', 'grant-role', 'tenure', 'tenure');
    await etcdctl('auth', 'enable');
    try {
      const own = await doctor(as('tenure:hunter2-secret'), '--namespace', 'billing');
      expect(own.of('warning')).toEqual(known);
      expect(own.of('note')).toEqual([]);
      expect(own.outcome.stdout).not.toContain('hunter2-secret');
      const other = await doctor(as('tenure:hunter2-secret'), '--namespace', 'other');
      expect(other.find('etcd-rights').severity).toBe('critical');
      const root = await doctor(as('root:r00t'), '--namespace', 'billing');
      expect(root.find('etcd-rights-broad').severity).toBe('warning');
      const stranger = await doctorText(as('tenure:wrong'));
      expect(stranger.status).toBe(78);
      expect(stranger.stderr).toContain('user or password is wrong');
    } finally {
      await etcdctl('auth', 'disable', '--user', 'root:r00t');
    }
  });

  it('finds a member that is down, and then that no majority is left', async () => {
    const [one, two] = cluster.members;
    await one?.kill();
    const minor = await doctor(url);
    expect(minor.of('critical')).toEqual([]);
    expect(minor.of('warning')).toEqual(['etcd-members', ...known]);
    expect(minor.find('etcd-members').seen).toContain(`127.0.0.1:${one?.port}`);
    await two?.kill();
    const major = await doctor(url);
    expect(major.of('critical')).toEqual(['etcd-quorum']);
    expect(major.find('etcd-rights').couldNotLook).toBe(true);
    expect(major.status).toBe(78);
    await Promise.all([one?.restart({ keepData: true }), two?.restart({ keepData: true })]);
  });
});

describe('the doctor on a URL of two clusters', () => {
  it('finds that they are not one, in whatever order they are named', async () => {
    const [one, other] = await Promise.all([startEtcd(), startEtcd()]);
    try {
      const [first, second] = [one, other].map(({ url }) => url.slice('etcd://'.length));
      for (const url of [`etcd://${first},${second}`, `etcd://${second},${first}`]) {
        const { status, of, find } = await doctor(url);
        expect(of('critical')).toEqual(['etcd-cluster']);
        expect(find('etcd-cluster').seen).toContain('2 clusters: ');
        expect(status).toBe(78);
      }
    } finally {
      await Promise.all([one.stop(), other.stop()]);
    }
  });
});

describe('the doctor on one etcd member', () => {
  it('finds that its database is full', async () => {
    const cluster = await startEtcd({ args: ['--quota-backend-bytes', '1'] });
    try {
      await cluster.etcdctl('put', 'full', 'up').catch(() => undefined);
      const { status, of, find } = await doctor(cluster.url);
      expect(of('critical')).toEqual(['etcd-alarm']);
      expect(find('etcd-alarm')).toMatchObject({
        seen: 'raised: NOSPACE',
        remedy: expect.stringContaining('etcdctl alarm disarm'),
      });
      expect(of('warning')).toEqual(['etcd-size', ...known]);
      expect(status).toBe(78);
    } finally {
      await cluster.stop();
    }
  });

  it('speaks TLS with it, and shows a certificate', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tenure-doctor-tls-'));
    const { ca, cert, key } = certificatesIn(folder);
    const cluster = await startEtcd({ certificates: { ca, cert, key } });
    try {
      const { find, of } = await doctor(`${cluster.url}?${new URLSearchParams({ ca, cert, key })}`);
      expect(of('critical')).toEqual([]);
      expect(find('tls').seen).toBe('the connection is encrypted');
      expect(find('etcd-auth').seen).toContain('a certificate is shown');
      expect(find('clock-offset').severity).toBe('ok');
      const plain = await doctorText(cluster.url.replace('etcds://', 'etcd://'));
      expect(plain.status).toBe(69);
      expect(plain.stderr).toContain('etcds://');
    } finally {
      await cluster.stop();
      rmSync(folder, { recursive: true });
    }
  });

  it('finds that its gateway is off', async () => {
    const cluster = await startEtcd({ args: ['--enable-grpc-gateway=false'] });
    try {
      const { status, find } = await doctor(cluster.url);
      expect(find('etcd-gateway').severity).toBe('critical');
      expect(status).toBe(78);
    } finally {
      await cluster.stop();
    }
  });

  it('is not there', async () => {
    const { status, stderr } = await doctorText('etcd://127.0.0.1:1');
    expect(status).toBe(69);
    expect(stderr).toContain('nothing listens there');
  });
});

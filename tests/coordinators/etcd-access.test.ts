import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findOpenssl } from '../../scripts/server-binaries.mjs';
import { OptionError, StoreMisconfiguredError, UnreachableError } from '../../src/errors/index.js';
import { etcdCoordinator } from '../../src/etcd.js';
import { type EtcdCertificates, type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { Actor, call } from './etcd-stage.js';

vi.setConfig({ testTimeout: 30_000 });

describe('etcd with users', () => {
  let cluster: EtcdCluster;
  const address = () => cluster.url.replace('etcd://', '');
  const root = ['--user', 'root:r00t'];

  beforeAll(async () => {
    cluster = await startEtcd();
    const { etcdctl } = cluster;
    await etcdctl('user', 'add', 'root:r00t');
    await etcdctl('user', 'add', 'app:s3cret/@');
    await etcdctl('user', 'add', 'nobody:nothing');
    await etcdctl('role', 'add', 'tenure');
    // All that docs/protocol.md says a user needs: its prefix.
    await etcdctl('role', 'grant-permission', 'tenure', 'readwrite', '--prefix=true', '/apps/one/');
    await etcdctl('user', 'grant-role', 'app', 'tenure');
    await etcdctl('auth', 'enable');
  });
  afterAll(() => cluster.stop());

  it('everything works with a right to one prefix alone', async () => {
    const url = `etcd://app:${encodeURIComponent('s3cret/@')}@${address()}`;
    const client = etcdCoordinator(url, { prefix: '/apps/one/' });
    const ann = new Actor(client, 'ann');
    const woken = new Promise<void>((resolve) => {
      client.watch('team', (name) => name === 'team/name' && resolve());
    });
    try {
      await ann.enroll('team/name');
      const term = await ann.take('team/name', { graceMs: 2_000, keepHistory: true });
      expect(await ann.renew('team/name', term)).toBe('renewed');
      await client.suspend('team/name', { by: 'a test', reason: 'none' }, call);
      await client.resume('team/name', { by: 'a test', reason: 'none' }, call);
      await ann.release('team/name', term);
      await woken;
      expect(await client.history('team/name', call)).toHaveLength(3);
      expect(await client.candidates('team/name', call)).toHaveLength(1);
      await client.writeDocument('pins', '{}', 0, call);
      expect(await client.list('team', call)).toEqual([]);
    } finally {
      await client.close();
    }
  });

  it('a token that the server has forgotten is asked for anew', async () => {
    const url = `etcd://app:${encodeURIComponent('s3cret/@')}@${address()}`;
    const client = etcdCoordinator(url, { prefix: '/apps/one/' });
    try {
      const ann = new Actor(client, 'ann');
      const term = await ann.take('forgotten', { ttlMs: 20_000 });
      // Simple tokens live in the memory of the member.
      await cluster.members[0]?.restart({ keepData: true });
      expect(await ann.renew('forgotten', term, 20_000)).toBe('renewed');
      await ann.release('forgotten', term);
    } finally {
      await client.close();
    }
  });

  it.each([
    ['a wrong password', 'app:wrong@', 'user or password is wrong'],
    ['no user', '', 'user or password is wrong, or missing'],
    ['a user without the right', 'nobody:nothing@', 'lacks a right'],
  ])('%s fails at once, and says so', async (_, login, words) => {
    const client = etcdCoordinator(`etcd://${login}${address()}`, { prefix: '/apps/one/' });
    try {
      const startedMs = performance.now();
      const refusal = await client.read(['name'], { timeoutMs: 30_000 }).catch((error) => error);
      expect(refusal).toBeInstanceOf(StoreMisconfiguredError);
      expect(refusal.message).toContain(words);
      expect(refusal.message).not.toContain('wrong@');
      expect(performance.now() - startedMs).toBeLessThan(2_000);
    } finally {
      await client.close();
    }
  });

  it('a user whose role is taken away is refused, and works again with it', async () => {
    const url = `etcd://app:${encodeURIComponent('s3cret/@')}@${address()}`;
    const client = etcdCoordinator(url, { prefix: '/apps/one/' });
    try {
      await client.read(['name'], call);
      await cluster.etcdctl(...root, 'user', 'revoke-role', 'app', 'tenure');
      await expect(client.read(['name'], call)).rejects.toThrow(StoreMisconfiguredError);
      await cluster.etcdctl(...root, 'user', 'grant-role', 'app', 'tenure');
      expect(await client.read(['name'], call)).toEqual([undefined]);
    } finally {
      await client.close();
    }
  });
});

describe('etcd with TLS', () => {
  let cluster: EtcdCluster;
  let folder: string;
  let own: EtcdCertificates;
  let stranger: EtcdCertificates;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tenure-etcd-tls-'));
    own = certificates(folder, 'own');
    stranger = certificates(folder, 'stranger');
    cluster = await startEtcd({ certificates: own });
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true });
  });

  async function works(url: string, options = {}): Promise<void> {
    const client = etcdCoordinator(url, options);
    try {
      const ann = new Actor(client, 'ann');
      const woken = new Promise<void>((resolve) => {
        client.watch('', () => resolve());
      });
      const term = await ann.take('name', { keepHistory: true });
      expect(await ann.renew('name', term)).toBe('renewed');
      await ann.release('name', term);
      await woken;
    } finally {
      await client.close();
    }
  }

  it('speaks it with a private authority and a certificate of its own, by options or URL', async () => {
    await works(cluster.url, { tls: own });
    const { ca, cert, key } = own;
    await works(`${cluster.url}?${new URLSearchParams({ ca, cert, key })}`);
  });

  it('refuses a server whose authority it was not told of', async () => {
    for (const tls of [undefined, { ...own, ca: stranger.ca }]) {
      const client = etcdCoordinator(cluster.url, tls === undefined ? {} : { tls });
      await expect(client.read(['name'], call)).rejects.toThrow(UnreachableError);
      await client.close();
    }
  });

  it('is refused without a certificate, or with one of another authority', async () => {
    for (const tls of [{ ca: own.ca }, { ...stranger, ca: own.ca }]) {
      const client = etcdCoordinator(cluster.url, { tls });
      await expect(client.read(['name'], call)).rejects.toThrow();
      await client.close();
    }
  });

  it('a file that cannot be read is refused by name', () => {
    expect(() => etcdCoordinator(cluster.url, { tls: { ca: '/nowhere/ca.pem' } })).toThrow(
      OptionError,
    );
    expect(() => etcdCoordinator(cluster.url, { tls: { ca: own.ca, cert: own.cert } })).toThrow(
      'go together',
    );
  });
});

/** An authority, and a certificate of it for the loopback address that does for servers and clients. */
function certificates(folder: string, name: string): EtcdCertificates {
  const path = (kind: string) => join(folder, `${name}-${kind}`);
  const openssl = (...args: string[]) =>
    execFileSync(findOpenssl() ?? 'openssl', args, { stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const [ca, caKey, cert, key] = ['ca.pem', 'ca.key', 'cert.pem', 'cert.key'].map(path) as [
    string,
    string,
    string,
    string,
  ];
  const authority = ['req', '-x509', ...newKey, '-days', '2', '-subj', `/CN=${name}`];
  openssl(...authority, '-keyout', caKey, '-out', ca);
  openssl('req', ...newKey, '-subj', '/CN=member', '-keyout', key, '-out', path('csr'));
  writeFileSync(
    path('ext'),
    'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  const signing = ['x509', '-req', '-in', path('csr'), '-CA', ca, '-CAkey', caKey];
  openssl(...signing, '-CAcreateserial', '-days', '2', '-extfile', path('ext'), '-out', cert);
  return { ca, cert, key };
}

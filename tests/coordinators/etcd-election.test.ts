import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findEtcdctl } from '../../scripts/server-binaries.mjs';
import { type EtcdCoordinator, etcdCoordinator } from '../../src/etcd.js';
import { type EtcdCluster, startEtcd } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { Actor, call, pause } from './etcd-stage.js';

vi.setConfig({ testTimeout: 30_000 });

let cluster: EtcdCluster;
const clients: EtcdCoordinator[] = [];
const campaigns: Campaign[] = [];

beforeAll(async () => {
  cluster = await startEtcd();
});
afterAll(async () => {
  for (const campaign of campaigns) await campaign.end('SIGKILL');
  for (const client of clients) await client.close();
  await cluster.stop();
});

function client(options = {}): EtcdCoordinator {
  const made = etcdCoordinator(cluster.url, options);
  clients.push(made);
  return made;
}

const actor = (id: string, options = {}) => new Actor(client(options), id);

/** A candidate of etcd's own program. */
class Campaign {
  readonly #child: ChildProcess;
  output = '';

  constructor(election: string, proposal: string) {
    const args = [
      '--endpoints',
      cluster.url.replace('etcd:', 'http:'),
      'elect',
      election,
      proposal,
    ];
    this.#child = spawn(findEtcdctl() ?? 'etcdctl', args, {
      env: { PATH: process.env.PATH, ETCDCTL_API: '3' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
    });
    campaigns.push(this);
  }

  get leads(): boolean {
    return this.output.includes('\n');
  }

  /** SIGINT resigns; SIGKILL leaves its lease to the server. */
  async end(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await once(this.#child, 'exit');
  }
}

async function queueLength(election: string): Promise<number> {
  const text = await cluster.etcdctl('get', '--prefix', '--keys-only', `${election}/`);
  return text.split('\n').filter((line) => line !== '').length;
}

async function campaign(election: string, proposal: string): Promise<Campaign> {
  const before = await queueLength(election);
  const made = new Campaign(election, proposal);
  await until(`${proposal} queues`, async () => (await queueLength(election)) > before);
  return made;
}

describe.concurrent('tenure and etcdctl elect', () => {
  it('etcdctl waits while tenure leads, and leads when tenure has let go', async () => {
    const ann = actor('ann');
    const term = await ann.take('first', { ttlMs: 10_000 });
    const other = await campaign('first', 'other');
    expect(other.leads).toBe(false);
    await ann.release('first', term);
    await until('etcdctl leads', async () => other.leads);
    expect(other.output).toContain('other');
    const record = await ann.held('first');
    expect(record.holder.id).toMatch(/^etcd-[0-9a-f]+$/);
    expect(record.metadata).toBe('"other"');
    expect(record.term).toBeGreaterThan(term);
    expect((await ann.acquire('first')).outcome).toBe('held');
  });

  it('etcdctl elect -l shows a leader of tenure', async () => {
    const ann = actor('ann');
    await ann.take('listened', { ttlMs: 10_000 });
    const listener = spawn(
      findEtcdctl() ?? 'etcdctl',
      ['--endpoints', cluster.url.replace('etcd:', 'http:'), 'elect', '-l', 'listened'],
      { env: { PATH: process.env.PATH, ETCDCTL_API: '3' } },
    );
    let text = '';
    listener.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    await until('a line of the listener', async () => text.includes('"id":"ann"'));
    listener.kill('SIGKILL');
    await once(listener, 'exit');
    expect(text).toMatch(/^listened\/[0-9a-f]+-[0-9a-f]+\n/);
  });

  it('tenure waits while etcdctl leads, is called when that resigns, and has the higher term', async () => {
    const other = await campaign('second', 'other');
    await until('etcdctl leads', async () => other.leads);
    const bob = actor('bob');
    const { term } = await bob.held('second');
    const called = new Promise<void>((resolve) => {
      bob.client.onCalled(bob.holder, ({ name }) => name === 'second' && resolve());
    });
    await bob.enroll('second');
    await pause(300);
    await other.end('SIGINT');
    await called;
    expect(await bob.take('second')).toBeGreaterThan(term);
  });

  it('tenure leads after a candidate of etcdctl has died, when the server has let its lease end', async () => {
    // Its store lease has 60 seconds; an operator ends it at once.
    const other = await campaign('died', 'other');
    const bob = actor('bob');
    await bob.enroll('died');
    await other.end('SIGKILL');
    const hex = /died\/([0-9a-f]+)\n/.exec(await cluster.etcdctl('get', '--prefix', 'died/'))?.[1];
    await cluster.etcdctl('lease', 'revoke', hex ?? '');
    await bob.wins('died');
  });

  it('who came first leads next, be it of tenure or not: the number of its place is its term', async () => {
    const ann = actor('ann');
    const [bob, cid] = [actor('bob'), actor('cid')];
    const term = await ann.take('queue', { ttlMs: 10_000 });
    await bob.enroll('queue');
    const other = await campaign('queue', 'other');
    await cid.enroll('queue');
    await ann.release('queue', term);
    await pause(300);
    expect(other.leads).toBe(false);
    // In front of the candidate of etcdctl nobody can be put.
    expect((await cid.acquire('queue')).outcome).toBe('held');
    const text = await cluster.etcdctl('get', '--prefix', 'queue/', '-w', 'json');
    const [first] = JSON.parse(text).kvs.map(
      (kv: { create_revision: number }) => kv.create_revision,
    );
    const next = await bob.take('queue', { ttlMs: 10_000 });
    expect(next).toBe(Math.min(first, next));
    expect(next).toBeGreaterThan(term);
    await bob.release('queue', next);
    await until('etcdctl leads', async () => other.leads);
    await other.end('SIGINT');
    expect(await cid.wins('queue')).toBeGreaterThan(next);
  });

  it('a candidate that was passed over queues anew, behind the one that was granted the name', async () => {
    const [ann, bob] = [actor('ann'), actor('bob')];
    await ann.enroll('passed');
    const term = await bob.take('passed', { ttlMs: 10_000 });
    expect(await queueLength('passed')).toBe(1);
    await ann.enroll('passed');
    expect(await queueLength('passed')).toBe(2);
    await bob.release('passed', term);
    expect(await ann.take('passed')).toBeGreaterThan(term);
  });

  it('many that wait for many names are passed over in one call', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `many/${index}`);
    const waiters = ['ann', 'bob', 'cid', 'eve', 'fay'].map((id) => actor(id));
    for (const { client, holder } of waiters) {
      const entry = { holder, standing: 'waiting', preference: 0, ttlMs: 20_000 } as const;
      await client.enroll(
        names.map((name) => ({ name, ...entry })),
        { timeoutMs: 30_000 },
      );
    }
    const dee = actor('dee');
    const request = { holder: dee.holder, attempt: 'd'.repeat(32), ttlMs: 20_000 };
    const results = await dee.client.acquire(
      names.map((name) => ({ name, ...request })),
      { timeoutMs: 30_000 },
    );
    expect(results.every(({ outcome }) => outcome === 'granted')).toBe(true);
    expect(await queueLength('many%2F7')).toBe(1);
  });

  it('an operator cannot revoke a leader of another program, and is not told that it was done', async () => {
    const other = await campaign('beyond', 'other');
    await until('etcdctl leads', async () => other.leads);
    const { client } = actor('operator');
    const record = await client.revoke('beyond', { by: 'a test', reason: 'none' }, call);
    expect(record).toMatchObject({ state: 'held', revocation: undefined });
    expect(await client.history('beyond', call)).toEqual([]);
  });

  it('outside the default namespace the election has the namespace in front, and names are encoded', async () => {
    const ann = actor('ann', { namespace: 'prod', prefix: '/apps/' });
    await ann.take('team/report', { ttlMs: 10_000 });
    expect(await queueLength('/apps/:prod:team%2Freport')).toBe(1);
    const bob = actor('bob', { prefix: '/apps/' });
    await bob.take('team/report', { ttlMs: 10_000 });
    expect(await queueLength('/apps/:default:team%2Freport')).toBe(1);
  });

  it('a name and one below it are two elections', async () => {
    const ann = actor('ann');
    await ann.take('above', { ttlMs: 10_000 });
    await ann.take('above/below', { ttlMs: 10_000 });
    expect(await ann.client.list('above', call)).toHaveLength(1);
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { Holder } from '../../src/coordinators/index.js';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import { type RedisCoordinator, redisCoordinator } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { act, call, QuorumActor, RedisQuorumFixture } from './redis-quorum-fixture.js';

/*
 * One server and a quorum keep their leases under the same keys. What one node granted alone would be a second truth, so
 * each of the two stays away from the namespace of the other.
 */

const fixture = new RedisQuorumFixture();
const clients: RedisCoordinator[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** A coordinator of this node alone. */
function aloneAt(number: number, options: { namespace?: string; replicas?: number } = {}) {
  const url = fixture.nodes[number]?.url ?? '';
  const client = redisCoordinator(url, { namespace: fixture.namespace, ...options });
  clients.push(client);
  return client;
}

const operations: Record<
  string,
  (client: RedisCoordinator, actor: QuorumActor) => Promise<unknown>
> = {
  acquire: (client, actor) => client.acquire([actor.request('job')], call),
  renew: (client, { holder }) =>
    client.renew([{ name: 'job', holder, term: 1, ttlMs: 1_000 }], call),
  release: (client, { holder }) => client.release([{ name: 'job', holder, term: 1 }], call),
  read: (client) => client.read(['job'], call),
  list: (client) => client.list('', call),
  enroll: (client, { holder }) =>
    client.enroll(
      [{ name: 'job', holder, standing: 'waiting', preference: 0, ttlMs: 1_000 }],
      call,
    ),
  withdraw: (client, { holder }) => client.withdraw([{ name: 'job', holder }], call),
  candidates: (client) => client.candidates('job', call),
  revoke: (client) => client.revoke('job', act, call),
  suspend: (client) => client.suspend('job', act, call),
  resume: (client) => client.resume('job', act, call),
  history: (client) => client.history('job', call),
  readDocument: (client) => client.readDocument('pins', call),
  writeDocument: (client) => client.writeDocument('pins', 'text', 0, call),
};

describe('a coordinator of one server that is a node of a quorum', () => {
  it.each(Object.entries(operations))('is refused: %s', async (_, operate) => {
    const ann = await fixture.actor('ann');
    const keysBefore = await fixture.admins[0]?.keys(`{tenure:${fixture.namespace}}*`);
    const refusal = await operate(aloneAt(0), ann).catch((error: Error) => error);
    expect(refusal).toBeInstanceOf(StoreMisconfiguredError);
    expect(refusal).toMatchObject({ message: expect.stringContaining('redis+quorum://') });
    expect(await fixture.admins[0]?.keys(`{tenure:${fixture.namespace}}*`)).toEqual(keysBefore);
  });

  it('is refused in the step that would grant, though it was connected before there was a quorum', async () => {
    const alone = aloneAt(0);
    expect(await alone.read(['job'], call)).toEqual([undefined]);
    const ann = await fixture.actor('ann');
    await expect(alone.acquire([ann.request('job')], call)).rejects.toThrow(/node of a quorum/);
    await ann.take('job');
  });

  it('is refused when a grant waits for replicas', async () => {
    const ann = await fixture.actor('ann');
    const acquiring = aloneAt(0, { replicas: 1 }).acquire([ann.request('job')], call);
    await expect(acquiring).rejects.toThrow(/node of a quorum/);
  });

  it('is granted leases of another namespace', async () => {
    const ann = await fixture.actor('ann');
    const other = aloneAt(0, { namespace: `${fixture.namespace}-other` });
    const [result] = await other.acquire([ann.request('job')], call);
    expect(result?.outcome).toBe('granted');
  });
});

/** Nobody has noticed the loss. */
const untouched = async () => undefined;

describe('a quorum of nodes', () => {
  it('is not set up where one of them has granted leases alone, until what they left is gone', async () => {
    const ann = new QuorumActor(fixture.client(), Holder.create('ann', realRuntime));
    const [granted] = await aloneAt(1).acquire([ann.request('job')], call);
    expect(granted?.outcome).toBe('granted');
    const refusal = await ann.acquire('job').catch((error: Error) => error);
    expect(refusal).toBeInstanceOf(StoreMisconfiguredError);
    expect(refusal).toMatchObject({
      message: expect.stringMatching(`:${fixture.nodes[1]?.port}.* without a quorum`),
    });
    expect(await fixture.textsOf('member')).toEqual([null, null, null, null, null]);
    const keys = await fixture.admins[1]?.keys(`{tenure:${fixture.namespace}}*`);
    await fixture.admins[1]?.del(...(keys ?? []));
    await ann.take('job');
  });

  it.each([
    ['before it is given its memory back', untouched],
    [
      'while it is given its memory back',
      async () => {
        await fixture.client().read(['job'], call);
        await expect.poll(() => fixture.textsOf('seeding')).toContainEqual(expect.any(String));
      },
    ],
  ])(
    'goes on without one that forgot, and granted leases alone %s',
    async (_, moment) => {
      const ann = await fixture.actor('ann');
      const term = await ann.take('job');
      const out = new Promise<string>((resolve) => {
        ann.client.on('node-out', ({ reason }) => {
          if (reason.includes('without the quorum')) resolve(reason);
        });
      });
      const alone = aloneAt(4);
      await fixture.admins[4]?.flushall();
      await moment();
      const [granted] = await alone.acquire([ann.request('job')], call);
      expect(granted?.outcome).toBe('granted');
      const text = (await fixture.textsOf('lease:job'))[4];
      expect(await ann.renew('job', term)).toBe('renewed');
      await expect
        .poll(() => ann.renew('job', term).then(() => Promise.race([out, 'not yet'])), {
          timeout: 8_000,
        })
        .toMatch(/without the quorum/);
      await expect.poll(async () => (await fixture.textsOf('seeding'))[4]).toBeNull();
      expect((await fixture.textsOf('member'))[4]).toBeNull();
      if (moment === untouched) expect((await fixture.textsOf('lease:job'))[4]).toBe(text);

      const back = ann.reseeded();
      await fixture.admins[4]?.flushall();
      await expect
        .poll(() => ann.renew('job', term).then(() => Promise.race([back, 'not yet'])), {
          timeout: 8_000,
        })
        .toContain(`:${fixture.nodes[4]?.port}`);
      await expect(alone.acquire([ann.request('other')], call)).rejects.toThrow(/node of a quorum/);
    },
    30_000,
  );
});

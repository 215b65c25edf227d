import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Holder, OutcomeUnknownError, UnreachableError } from '../../src/index.js';
import { realRuntime } from '../../src/time/index.js';
import { zookeeperCoordinator } from '../../src/zookeeper.js';
import { startZooKeeperEnsemble, type ZooKeeperServer } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { call, limits, newNamespace } from './zookeeper-fixture.js';

const ttlMs = 20_000;
let members: ZooKeeperServer[] = [];
const open: Member[] = [];

/** A process that knows all members. */
class Member {
  readonly client;
  readonly holder: Holder;

  constructor(id: string, namespace: string) {
    const hosts = members.map(({ host, port }) => `${host}:${port}`).join(',');
    this.client = zookeeperCoordinator(`zookeeper://${hosts}`, {
      namespace,
      connectTimeoutMs: 500,
      ...limits,
    });
    this.holder = Holder.create(id, realRuntime);
    open.push(this);
  }

  async acquire(name: string, timeoutMs = call.timeoutMs) {
    const attempt = realRuntime.randomHex(16);
    const request = { name, holder: this.holder, attempt, ttlMs };
    return (await this.client.acquire([request], { timeoutMs }))[0];
  }

  async take(name: string): Promise<number> {
    const result = await this.acquire(name);
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${JSON.stringify(result)}`);
    return result.term;
  }

  async renew(name: string, term: number, timeoutMs = call.timeoutMs) {
    const request = { name, holder: this.holder, term, ttlMs };
    return (await this.client.renew([request], { timeoutMs }))[0]?.outcome;
  }

  /** Renews until that is answered. */
  async renewsAgain(name: string, term: number): Promise<void> {
    await until('a renewal', async () => {
      const outcome = await this.renew(name, term, 500).catch(withoutAnswer);
      if (outcome === 'not-yours') throw new Error('the lease is lost');
      return outcome === 'renewed';
    });
  }
}

/** Any other error is one. */
function withoutAnswer(error: unknown): undefined {
  if (error instanceof UnreachableError || error instanceof OutcomeUnknownError) return undefined;
  throw error;
}

async function leader(): Promise<ZooKeeperServer> {
  let found: ZooKeeperServer | undefined;
  await until('a leader', async () => {
    for (const member of members) if ((await member.mode()) === 'leader') found = member;
    return found !== undefined;
  });
  return found as ZooKeeperServer;
}

beforeAll(async () => {
  members = await startZooKeeperEnsemble({ smallestSessionMs: limits.smallestTtlMs });
}, 60_000);
afterAll(async () => {
  await Promise.all(members.map((member) => member.stop()));
});
afterEach(async () => {
  for (const { client } of open.splice(0)) await client.close();
});

describe('three members of ZooKeeper', () => {
  const { namespace } = newNamespace();

  it('lose their leader: the lease is held on, and the next term is higher', async () => {
    const [ann, bob] = [new Member('ann', namespace), new Member('bob', namespace)];
    const term = await ann.take('job');
    const killed = await leader();
    await killed.kill();
    await ann.renewsAgain('job', term);
    await until('an answer that it is held', async () => {
      const result = await bob.acquire('job', 500).catch(withoutAnswer);
      expect(result?.outcome).not.toBe('granted');
      return result?.outcome === 'held';
    });
    await ann.client.release([{ name: 'job', holder: ann.holder, term }], call);
    expect(await bob.take('job')).toBeGreaterThan(term);
    await killed.restart({ keepData: true });
  }, 60_000);

  it('have a leader that is frozen: the others elect one, and what the frozen one knew does not count', async () => {
    const [ann, bob] = [new Member('ann', namespace), new Member('bob', namespace)];
    const term = await ann.take('frozen');
    const frozen = await leader();
    frozen.freeze();
    try {
      await ann.renewsAgain('frozen', term);
      await ann.client.release([{ name: 'frozen', holder: ann.holder, term }], call);
      await until('a grant under the new leader', async () => {
        const result = await bob.acquire('frozen', 500).catch(withoutAnswer);
        return result?.outcome === 'granted' && result.term > term;
      });
    } finally {
      frozen.thaw();
    }
    await until('the frozen one to follow', async () => (await frozen.mode()) === 'follower');
    expect((await ann.acquire('frozen'))?.outcome).toBe('held');
  }, 60_000);

  it('lose two: nobody is granted anything, nothing is taken for free, and it goes on when they are back', async () => {
    const [ann, bob] = [new Member('ann', namespace), new Member('bob', namespace)];
    const term = await ann.take('majority');
    await bob.client.read(['majority'], call);
    const lost = members.slice(0, 2);
    await Promise.all(lost.map((member) => member.kill()));
    for (let round = 0; round < 4; round++) {
      // A leader that does not know yet that it is none may still say what it knows; it can grant nothing.
      const [held, other] = [
        await bob.acquire('majority', 250).catch(withoutAnswer),
        await bob.acquire('other', 250).catch(withoutAnswer),
      ];
      expect([undefined, 'held']).toContain(held?.outcome);
      expect(other).toBeUndefined();
      expect(await ann.renew('majority', term, 250).catch(withoutAnswer)).toBeUndefined();
      const [record] = (await bob.client
        .read(['majority'], { timeoutMs: 250 })
        .catch(withoutAnswer)) ?? [{ state: 'held' }];
      expect(record?.state).toBe('held');
    }
    await Promise.all(lost.map((member) => member.restart({ keepData: true })));
    await ann.renewsAgain('majority', term);
    expect((await bob.acquire('majority'))?.outcome).toBe('held');
    expect(await bob.take('other')).toBeGreaterThan(term);
  }, 60_000);

  it('lose all their data: terms still rise', async () => {
    const ann = new Member('ann', namespace);
    const term = await ann.take('wiped');
    await Promise.all(members.map((member) => member.kill()));
    await Promise.all(members.map((member) => member.restart({ keepData: false })));
    await until('a grant', async () => {
      const result = await ann.acquire('wiped', 500).catch(withoutAnswer);
      if (result?.outcome !== 'granted') return false;
      expect(result.term).toBeGreaterThan(term);
      return true;
    });
    expect(await ann.renew('wiped', term)).toBe('not-yours');
  }, 60_000);
});

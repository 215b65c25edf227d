import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OutcomeUnknownError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { redisCoordinator } from '../../src/redis.js';
import { FaultyCoordinator } from '../../src/testing.js';
import { call } from '../support/call.js';
import { type RedisServer, startRedis } from '../support/servers/index.js';

const name = 'payments';

let server: RedisServer;
let namespaceCount = 0;
let ann: FaultyCoordinator;
let leases: Leases;

beforeAll(async () => {
  server = await startRedis({});
});
afterAll(() => server.stop());

beforeEach(() => {
  namespaceCount += 1;
  const namespace = `test-${namespaceCount}`;
  ann = new FaultyCoordinator(redisCoordinator(server.url, { namespace }));
  leases = new Leases(ann, { id: 'ann', ttlMs: 60_000 });
});
afterEach(async () => {
  ann.heal();
  await leases.close();
  await ann.close();
});

async function holder(): Promise<string | undefined> {
  const [record] = await ann.read([name], call);
  return record?.state === 'held' ? record.holder.id : undefined;
}

describe('a server with faults in front of it, in real time', () => {
  it('ends a lease when the test says so', async () => {
    const lease = await leases.acquire(name);
    expect(await ann.expire(name)).toBe(true);
    expect(await holder()).toBeUndefined();
    expect(lease?.state).toBe('held');
  });

  it('gives a name to a thief', async () => {
    const lease = await leases.acquire(name);
    const thief = await ann.steal(name);
    expect(await holder()).toBe('thief');
    expect(thief.term).toBeGreaterThan(lease?.term ?? 0);
  });

  it('has executed what it does not answer', async () => {
    ann.loseReply({ operation: 'writeDocument' });
    const writing = ann.writeDocument('pins', 'text', 0, { timeoutMs: 60_000 });
    const unanswered = expect(writing).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect.poll(() => ann.readDocument('pins', call)).toEqual({ version: 1, text: 'text' });
    await ann.close();
    await unanswered;
  });

  it('executes a request long after it was given up', async () => {
    ann.flushLater({ operation: 'writeDocument' });
    const writing = ann.writeDocument('pins', 'text', 0, { timeoutMs: 50 });
    await expect(writing).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect(await ann.readDocument('pins', call)).toBeUndefined();
    ann.heal();
    expect(await ann.flush()).toBe(1);
    expect(await ann.readDocument('pins', call)).toEqual({ version: 1, text: 'text' });
  });
});

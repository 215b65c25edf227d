import { describe, expect, it } from 'vitest';
import { RecordCorruptError } from '../../src/index.js';
import { until } from '../support/until.js';
import { call, type Process, useZooKeeper } from './zookeeper-fixture.js';
import { asOperator } from './zookeeper-target.js';

const ttlMs = 1_000;
const longTtlMs = 20_000;

const onServer = useZooKeeper('jobs/overwritten');
const { paths, newName, start } = onServer;

const textOf = (job: string) =>
  asOperator(onServer.server, async (connection) => {
    const { data } = await connection.getData(paths.name(job));
    return data.toString();
  });

const overwrite = (job: string, text: string) =>
  asOperator(onServer.server, (connection) =>
    connection.setData(paths.name(job), Buffer.from(text)),
  );

const waits = ({ holder }: Process, name: string) =>
  ({ name, holder, standing: 'waiting', preference: 0, ttlMs: longTtlMs }) as const;

describe('a name whose text somebody has written over while it is held', () => {
  it.each([
    ['nothing', ''],
    ['a state that says nothing', '{"tenure":1}'],
    ['a state of which only the history is left', '{"tenure":1,"history":[]}'],
    [
      'a reservation',
      '{"tenure":1,"after":{"kind":"reservation","to":"bob","term":7,"deadlineMs":8000000000000}}',
    ],
    ['the mark of a node that is to go', '{"tenure":1,"swept":true}'],
  ])('is granted to nobody as long as the lease stands: %s', async (_, text) => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    const term = await ann.take(job, ttlMs);
    await overwrite(job, text);
    expect(await bob.tries(job)).toBe('corrupt');
    await expect(bob.client.read([job], call)).rejects.toThrow(RecordCorruptError);
    // Its holder does not renew it any more, so that it ends by itself.
    expect(await ann.renew(job, term, ttlMs)).toMatchObject({ outcome: 'not-yours' });
    await until('the end of the lease', async () => (await bob.tries(job)) !== 'corrupt');
  });

  it('is granted to nobody if the text tells of an earlier lease', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    const first = await ann.take(job, longTtlMs);
    const text = await textOf(job);
    await ann.release(job, first);
    await ann.take(job, longTtlMs);
    await overwrite(job, text);
    expect(await bob.tries(job)).toBe('corrupt');
  });

  it('is granted to nobody who waits for it either', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.take(job, longTtlMs);
    await bob.client.enroll([waits(bob, job)], call);
    await overwrite(job, '{"tenure":1}');
    expect(await bob.tries(job)).toBe('corrupt');
  });

  it('is granted with a higher term when the process of its holder is gone', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    const term = await ann.take(job, ttlMs);
    await overwrite(job, '{"tenure":1}');
    await ann.vanish();
    expect(await bob.tries(job)).toBe('corrupt');
    await until('the end of the session', async () => (await bob.tries(job)) === 'granted');
    const [record] = await bob.client.read([job], call);
    expect(record).toMatchObject({ state: 'held', holder: { id: 'bob' } });
    expect(record?.state === 'held' && record.term).toBeGreaterThan(term);
  });
});

describe('an acquire', () => {
  const [getData, getChildren] = [4, 8];

  /** What the process asks about the node of a name while it tries, by pieces that are sent together. */
  async function questionsOf(one: Process, job: string): Promise<number[][]> {
    const pieces: number[][] = [];
    one.proxy.up.set({
      kind: 'overhear',
      heard: (bytes) => pieces.push(questionsAbout(bytes, paths.name(job))),
    });
    expect(await one.tries(job)).toBe('granted');
    one.proxy.up.heal();
    return pieces.filter(({ length }) => length > 0);
  }

  it('of a name for which nobody waits asks nothing more for that', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    await ann.release(job, await ann.take(job, longTtlMs));
    expect(await questionsOf(bob, job)).toEqual([[getData]]);
  });

  it('by who waits for the name asks with its first question', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    const term = await ann.take(job, longTtlMs);
    await bob.client.enroll([waits(bob, job)], call);
    await ann.release(job, term);
    expect(await questionsOf(bob, job)).toEqual([[getData, getChildren]]);
  });

  it('by who does not wait for a name for which others do asks once more', async () => {
    const [job, ann, bob] = [newName(), await start('ann'), await start('bob')];
    const term = await ann.take(job, longTtlMs);
    await bob.client.enroll([waits(bob, job)], call);
    await ann.release(job, term);
    const late = await start('late');
    expect(await questionsOf(late, job)).toEqual([[getData], [getChildren]]);
  });
});

/** The kinds of the requests in what is sent that are about this node. Each has its length before it. */
function questionsAbout(bytes: Buffer, path: string): number[] {
  const kinds: number[] = [];
  for (let at = 0; at + 16 <= bytes.length; at += 4 + bytes.readInt32BE(at)) {
    const length = bytes.readInt32BE(at + 12);
    const end = at + 16 + length;
    if (length > 0 && end <= bytes.length && bytes.toString('utf8', at + 16, end) === path)
      kinds.push(bytes.readInt32BE(at + 8));
  }
  return kinds;
}

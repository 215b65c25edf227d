import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { OutcomeUnknownError, RecordCorruptError } from '../../src/index.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { call, newNamespace, Process } from './zookeeper-fixture.js';
import { asOperator, hasMulti } from './zookeeper-target.js';

const hourMs = 60 * 60 * 1_000;
const { namespace, paths } = newNamespace();
const open: Process[] = [];
let server: ZooKeeperServer;
let count = 0;

beforeAll(async () => {
  server = await startZooKeeper({ clock: true, smallestSessionMs: 3_000 });
});
afterAll(() => server?.stop());
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});

async function start(id: string): Promise<Process> {
  const one = await Process.start(server, id, { namespace });
  open.push(one);
  return one;
}

/** A document in version 1, and two processes that know it. */
async function scene() {
  const [ann, bob, name] = [await start('ann'), await start('bob'), `pins-${count++}`];
  await ann.client.writeDocument(name, 'first', 0, call);
  await bob.client.readDocument(name, call);
  return { ann, bob, name };
}

const partsOf = (name: string) =>
  asOperator(server, (connection) => connection.getChildren(paths.document(name)));

/** Lets everything through up to the transaction that counts, and holds that, or what comes after it. */
function holdTransaction({ proxy }: Process, which: 'itself' | 'what follows'): void {
  let isSent = false;
  proxy.up.set({
    kind: 'judge',
    fateOf: (bytes) => {
      const wasSent = isSent;
      isSent ||= hasMulti(bytes);
      return (which === 'itself' ? isSent : wasSent) ? 'hold' : 'none';
    },
  });
}

describe('a document', () => {
  it('outlives a slow writer: what that one cleans up after its write is nothing of a later write', async () => {
    const { ann, bob, name } = await scene();
    holdTransaction(ann, 'what follows');
    // Nor does a writer wait for its cleaning, so its answer cannot get lost with that.
    const written = await ann.client.writeDocument(name, 'second', 1, call);
    expect(written).toEqual({ outcome: 'written', version: 2 });
    expect(await bob.client.writeDocument(name, 'third', 2, call)).toMatchObject({ version: 3 });
    ann.proxy.up.heal();
    expect(await ann.client.readDocument(name, call)).toEqual({ version: 3, text: 'third' });
    expect(await bob.client.readDocument(name, call)).toEqual({ version: 3, text: 'third' });
  });

  it('is never told of with a part that has gone before the head could tell of it', async () => {
    const { ann, bob, name } = await scene();
    const before = await partsOf(name);
    holdTransaction(bob, 'itself');
    const writing = bob.client.writeDocument(name, 'second', 1, call).catch((error) => error);
    await bob.proxy.up.caught();
    await asOperator(server, async (connection) => {
      for (const part of await connection.getChildren(paths.document(name)))
        if (!before.includes(part)) await connection.delete(`${paths.document(name)}/${part}`);
    });
    bob.proxy.up.heal();
    // It is written again, with its parts.
    expect(await writing).toEqual({ outcome: 'written', version: 2 });
    expect(await ann.client.readDocument(name, call)).toEqual({ version: 2, text: 'second' });
  });

  it('of which somebody has removed a part is told as damaged, at once', async () => {
    const { ann, name } = await scene();
    const [part] = await partsOf(name);
    await asOperator(server, (connection) => connection.delete(`${paths.document(name)}/${part}`));
    await expect(ann.client.readDocument(name, call)).rejects.toThrow(RecordCorruptError);
  });

  it('keeps no part that was replaced; one that a writer left who ended goes after an hour', async () => {
    const { ann, bob, name } = await scene();
    holdTransaction(bob, 'itself');
    const writing = bob.client.writeDocument(name, 'never', 1, call).catch((error) => error);
    await bob.proxy.up.caught();
    bob.proxy.up.swallow();
    await bob.vanish();
    expect(await writing).toBeInstanceOf(OutcomeUnknownError);
    await ann.client.writeDocument(name, 'second', 1, call);
    await until('the replaced part is gone', async () => (await partsOf(name)).length === 2);
    server.stepClock(hourMs + 1_000);
    try {
      await ann.client.writeDocument(name, 'third', 2, call);
      await until('the left part is gone', async () => (await partsOf(name)).length === 1);
      expect(await ann.client.readDocument(name, call)).toEqual({ version: 3, text: 'third' });
    } finally {
      server.stepClock(-hourMs - 1_000);
    }
  });
});

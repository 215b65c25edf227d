import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  OutcomeUnknownError,
  StaleTermError,
  StoreMisconfiguredError,
} from '../../../src/errors/index.js';
import { tokenOf } from '../../../src/fences/conformance/scenario.js';
import type { RedisBatch } from '../../../src/fences/redis/index.js';
import { type RedisFence, redisFence } from '../../../src/redis.js';
import { type RedisServer, startRedis } from '../../support/servers/index.js';

let server: RedisServer;
let admin: Redis;
/** Of the user whose rights are cut. */
let fence: RedisFence;
/** Of one who may do everything. */
let other: RedisFence;
const open: RedisFence[] = [];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});

afterAll(async () => {
  admin?.disconnect();
  await server?.stop();
});

beforeEach(async () => {
  await admin.flushall();
  await mayDo('+@all');
  fence = fenceOfUser();
  other = redisFence(server.url);
  open.push(other);
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

function fenceOfUser(): RedisFence {
  const one = redisFence(server.url.replace('//', '//app:secret@'));
  open.push(one);
  return one;
}

/** The rights of the user from now on, of all keys and no channel. */
async function mayDo(...rights: string[]): Promise<void> {
  await admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', '~*', ...rights);
}

const former = tokenOf('ledger', 5);
const token = tokenOf('ledger', 7);

const appendTwice = (batch: RedisBatch) => {
  batch.command('APPEND', 'log', 'a');
  batch.command('APPEND', 'log', 'b');
};

function write(fill: (batch: RedisBatch) => unknown, by = fence, under = token): Promise<unknown> {
  const outcome = by.transaction(under, async (batch) => void (await fill(batch)));
  // It is judged later.
  outcome.catch(() => undefined);
  return outcome;
}

async function expectDenied(outcome: Promise<unknown>, ...words: string[]): Promise<void> {
  const error: unknown = await outcome.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreMisconfiguredError);
  for (const one of [...words, 'nothing was executed'])
    expect((error as Error).message).toContain(one);
}

describe('a user who may not write what the fence itself writes', () => {
  it.each<[string, (batch: RedisBatch) => unknown]>([
    ['one command', (batch) => batch.command('APPEND', 'log', 'a')],
    ['several', appendTwice],
    ['an effect', (batch) => fence.recordOnce(batch, 'orders', 'acme', 1, 'm1')],
  ])('executes nothing of a batch that would install a term: %s', async (_, fill) => {
    await other.claim(former);
    await mayDo('+@all', '-set');
    await expectDenied(write(fill), 'no right to SET', 'ACL SETUSER <user> +set');
    expect(await admin.exists('log')).toBe(0);
    expect(await other.installedTerm('ledger')).toBe(5);
  });

  it('installs no term with a claim, the first as a later one', async () => {
    await mayDo('+@all', '-set');
    for (const before of [undefined, 5]) {
      if (before !== undefined) await other.claim(former);
      await expectDenied(fence.claim(token), 'claim', 'no right to SET', '+set');
      expect(await other.installedTerm('ledger')).toBe(before);
    }
  });

  it('executes nothing of a batch whose effect could not be recorded', async () => {
    await fence.claim(token);
    await mayDo('+@all', '-set');
    const outcome = write(async (batch) => {
      await fence.recordOnce(batch, 'orders', 'acme', 1, 'm1');
      appendTwice(batch);
    });
    await expectDenied(outcome, 'no right to SET', '+set');
    expect(await admin.exists('log')).toBe(0);
  });

  it.each([
    ['terms', 'effect'],
    ['effects', 'fence'],
  ])('executes nothing where a selector leaves out the keys of the %s', async (_, covered) => {
    await mayDo('+@all', '-set', `(+set ~{tenure-fence:default}:${covered}:*)`);
    const outcome = write(async (batch) => {
      await fence.recordOnce(batch, 'orders', 'acme', 1, 'm1');
      appendTwice(batch);
    });
    await expectDenied(outcome, 'SET', 'a key', '(+set ~KEY)');
    expect(await admin.exists('log')).toBe(0);
    expect(await other.installedTerm('ledger')).toBeUndefined();
  });

  it('executes nothing of several commands without the right to SETRANGE, by which that is found out', async () => {
    await fence.claim(token);
    await mayDo('+@all', '-setrange');
    await expectDenied(write(appendTwice), 'no right to SETRANGE', '+setrange');
    expect(await admin.exists('log')).toBe(0);
  });
});

describe('a user who may not do what stands in a batch', () => {
  const increase = (batch: RedisBatch) => batch.command('INCR', 'total');
  const increaseFirst = (batch: RedisBatch) => {
    increase(batch);
    appendTwice(batch);
  };

  it.each<[string, (batch: RedisBatch) => unknown]>([
    ['alone', increase],
    ['the first of several', increaseFirst],
  ])('is told which right is missing, under a new term and a later one: %s', async (_, fill) => {
    await mayDo('+@all', '-incr');
    for (const installed of [undefined, 7]) {
      if (installed !== undefined) await fence.claim(token);
      const words = ['command 1 (INCR)', 'no right to INCR', 'ACL SETUSER <user> +incr'];
      await expectDenied(write(fill), ...words);
      expect(await other.installedTerm('ledger')).toBe(installed);
    }
    expect(await admin.exists('log', 'total')).toBe(0);
  });

  it('is told so of each command that travels with others, and these are executed', async () => {
    await fence.claim(token);
    await mayDo('+@all', '-incr');
    const appended = write((batch) => batch.command('APPEND', 'log', 'a'));
    await expectDenied(write(increase), 'no right to INCR', '+incr');
    await appended;
    expect(await admin.get('log')).toBe('a');
  });

  it('is told so of a later command, and that those before it stay, under their term', async () => {
    await other.claim(former);
    await mayDo('+@all', '-incr');
    const outcome = write((batch) => {
      appendTwice(batch);
      increase(batch);
    });
    await expect(outcome).rejects.toBeInstanceOf(OutcomeUnknownError);
    await expect(outcome).rejects.toThrow(
      /in part: command 3 \(INCR\) .*no right to INCR.*stay.*ACL SETUSER <user> \+incr/s,
    );
    expect(await admin.get('log')).toBe('ab');
    await expect(write(appendTwice, other, former)).rejects.toBeInstanceOf(StaleTermError);
  });

  it('is told of a channel that is missing, and not by its name', async () => {
    const publish = write((batch) => batch.command('PUBLISH', 'secret-channel', 'here'));
    await expectDenied(publish, 'command 1 (PUBLISH)', 'channel', 'ACL SETUSER <user> &CHANNEL');
    await expect(publish).rejects.not.toThrow('secret-channel');
  });

  it('is told of a key that only another command may touch', async () => {
    await mayDo('+@all', '-incr', '(+incr ~mine)');
    await expectDenied(write(increase), 'command 1 (INCR)', 'a key', '(+incr ~KEY)');
  });
});

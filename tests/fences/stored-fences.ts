import { expect, it } from 'vitest';
import { OptionError, StoreMisconfiguredError } from '../../src/errors/index.js';
import { freshName, Gate, tokenOf } from '../../src/fences/conformance/scenario.js';
import type { StoredFence } from '../../src/fences/index.js';

/**
 * What every stored fence promises of its tables and connections, beyond what any fence does: each store names what is its own.
 */

/** @param age makes all effects that are recorded two hours older. */
export async function forgetsOldEffects<Transaction extends Guarded, Guarded>(
  fence: StoredFence<Transaction, Guarded>,
  age: () => unknown,
): Promise<void> {
  const scope = freshName('forget');
  const token = tokenOf(scope, 5);
  const record = (seq: number) =>
    fence.transaction(token, (open) => fence.recordOnce(open, scope, 'key', seq, `m${seq}`));
  while ((await fence.forgetEffects(0)) > 0);
  await record(1);
  await age();
  await record(2);
  expect(await fence.forgetEffects(3_600_000)).toBe(1);
  expect(await fence.forgetEffects(3_600_000)).toBe(0);
  expect([await record(1), await record(2)]).toEqual([true, false]);
  for (const wrong of [-1, 0.5, Number.NaN, Number.MAX_SAFE_INTEGER])
    await expect(fence.forgetEffects(wrong)).rejects.toBeInstanceOf(OptionError);
}

/** @param open a fence with a pool of its own. */
export function limitsItsPool<Transaction extends Guarded, Guarded>(
  open: (options: {
    readonly maxConnections: number;
    readonly timeoutMs?: number;
  }) => StoredFence<Transaction, Guarded>,
): void {
  it('has as many connections as it was told, and no more', async () => {
    const name = freshName('pool');
    const token = tokenOf(name, 5);
    const small = open({ maxConnections: 2, timeoutMs: 1000 });
    await small.claim(token);
    const gates = [new Gate(), new Gate()];
    const both = gates.map((gate) => small.transaction(token, () => gate.pass()));
    await Promise.all(gates.map(({ reached }) => reached));
    await expect(small.claim(token)).rejects.toThrow(/every connection of the pool is in use/);
    for (const gate of gates) gate.open();
    await Promise.all(both);
    await small.close();
  });

  it.each([0, 1.5, 1001, '5', Number.NaN])('refuses %s connections', (maxConnections) => {
    expect(() => open({ maxConnections: maxConnections as number })).toThrow(OptionError);
  });
}

/** What tables of a fence stand in: a schema or a database. */
export interface Place {
  /** A fence in the one of this name. */
  fence(name: string): StoredFence<unknown>;
  migrationSql(name: string): string;
  /** Runs what is printed so. */
  run(sql: string): Promise<unknown>;
  /** What stands in its table of terms. */
  rows(name: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Runs what uses a fence, and closes it. */
export async function withFence<Fence extends StoredFence<unknown>, Result>(
  fence: Fence,
  use: (fence: Fence) => Promise<Result>,
): Promise<Result> {
  try {
    return await use(fence);
  } finally {
    await fence.close();
  }
}

/** @param names the odd ones are taken, the wrong ones are not. @param remedy what is said where the tables are missing. */
export function createsItsPlace(
  { fence, migrationSql, run, rows }: Place,
  names: { readonly odd: readonly string[]; readonly wrong: readonly unknown[] },
  remedy: string,
): void {
  it.each(names.wrong as string[])('refuses the name %j', (name) => {
    expect(() => fence(name)).toThrow(OptionError);
    expect(() => migrationSql(name)).toThrow(OptionError);
  });

  it.each(names.odd)('takes the name %j as it is', async (name) => {
    await withFence(fence(name), async (one) => {
      await one.migrate();
      await one.claim(tokenOf('ledger', 5));
    });
    expect((await rows(name)).map((row) => Number(row.term))).toEqual([5]);
  });

  it('keeps the terms of two apart', async () => {
    await withFence(fence('one'), async (one) => {
      await one.migrate();
      await one.claim(tokenOf('x', 9));
    });
    await withFence(fence('two'), async (two) => {
      await two.migrate();
      expect(await two.installedTerm('x')).toBeUndefined();
    });
  });

  it('is created once by many that migrate at the same moment, and again without change', async () => {
    const many = Array.from({ length: 8 }, () => fence('crowded'));
    await Promise.all(many.map((one) => withFence(one, () => one.migrate())));
    await withFence(fence('crowded'), async (one) => {
      await one.claim(tokenOf('ledger', 5));
      await one.migrate();
      expect(await one.installedTerm('ledger')).toBe(5);
    });
  });

  it('can be created by the printed SQL, twice', async () => {
    const sql = migrationSql('printed');
    await run(sql);
    await run(sql);
    await withFence(fence('printed'), async (one) => {
      expect(one.migrationSql).toBe(sql);
      await one.claim(tokenOf('ledger', 5));
    });
  });

  it('is asked for by name when it is missing', async () => {
    await withFence(fence('absent'), async (one) => {
      const attempts = [
        () => one.claim(tokenOf('ledger', 1)),
        () => one.transaction(tokenOf('ledger', 1), async () => {}),
        () => one.installedTerm('ledger'),
        () => one.forgetEffects(0),
      ];
      for (const attempt of attempts) {
        const error = await attempt().catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(StoreMisconfiguredError);
        expect(String(error)).toContain(remedy);
      }
    });
  });

  it('holds only the digest of a holder, never its nonce', async () => {
    const token = tokenOf('ledger', 5);
    await withFence(fence('secret'), async (one) => {
      await one.migrate();
      await one.claim(token);
    });
    const found = await rows('secret');
    expect(found.map((row) => row.holder_digest)).toEqual([token.holder.digest]);
    const [, nonce = ''] = token.holder.wire.split(':');
    expect(JSON.stringify(found)).not.toContain(nonce);
  });
}

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, inject, it } from 'vitest';
import type { Coordinator } from '../../../src/coordinators/index.js';
import { type Lease, Leases, type RenewalOptions } from '../../../src/leases/index.js';
import { redisCoordinator } from '../../../src/redis.js';
import { sqliteCoordinator } from '../../../src/sqlite.js';
import { NodeProgram } from '../../support/node-program.js';
import { defined } from '../fixture.js';

/** Renewed three times in it, each with some hundred milliseconds of patience: enough on a busy machine. */
const ttlMs = 2_000;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** One namespace of a store, a process that holds "payments" in it, and one that may succeed it. */
function stage(kind: 'redis' | 'sqlite') {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-thread-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  const namespace = `thread-${randomBytes(6).toString('hex')}`;
  const store = kind === 'redis' ? inject('redisUrl') : `sqlite:${join(folder, 'tenure.db')}`;
  const coordinator: Coordinator =
    kind === 'redis'
      ? redisCoordinator(store, { namespace })
      : sqliteCoordinator(store, { namespace });
  const successor = new Leases(coordinator, { id: 'successor', ttlMs, attemptTimeoutMs: 300 });
  cleanups.push(async () => {
    await successor.close();
    await coordinator.close();
  });
  const wakeFile = join(folder, 'wake');
  return {
    /** What the store has under the name. */
    record: async () => (await coordinator.read(['payments'], { timeoutMs: 30_000 }))[0],
    wake: () => writeFileSync(wakeFile, ''),
    succeed: async (): Promise<Lease> =>
      defined(await successor.acquire('payments', { waitMs: 30_000 })),
    holder(act: string, options: RenewalOptions = {}, recipe: object = {}): NodeProgram {
      const program = new NodeProgram([join(import.meta.dirname, 'holder.mjs')], {
        STORE: store,
        NAMESPACE: namespace,
        ACT: act,
        OPTIONS: JSON.stringify({ ttlMs, attemptTimeoutMs: 300, ...options }),
        RECIPE: JSON.stringify(recipe),
        WAKE_FILE: wakeFile,
      });
      cleanups.push(() => program.kill());
      return program;
    },
  };
}

async function termOf(program: NodeProgram): Promise<number> {
  return Number((await program.says(/^acquired in term (\d+)$/))[1]);
}

describe.each(['redis', 'sqlite'] as const)(
  'a lease in %s that a thread renews',
  { timeout: 60_000 },
  (kind) => {
    it('is held, in the same term, after the event loop stood still for two ttls', async () => {
      const { holder, record } = stage(kind);
      const program = holder('block two ttls');
      const term = await termOf(program);
      expect((await program.says(/^woke: (.*)$/))[1]).toBe(`held undefined in term ${term}`);
      expect(await program.ended).toBe(0);
      expect(program.output).not.toMatch(/uncertain|lost|failed/);
      expect(await record()).toBeUndefined();
    });

    it('is lost as stalled at the first look after more than the limit, and another has the name meanwhile', async () => {
      const { holder, succeed, wake } = stage(kind);
      const program = holder('block until woken', { stallLimitMs: 400 });
      const term = await termOf(program);
      const lease = await succeed();
      expect(lease.term).toBeGreaterThan(term);
      wake();
      expect((await program.says(/^woke: (.*)$/))[1]).toBe(`lost stalled in term ${term}`);
      expect(await program.ended).toBe(0);
      expect(lease.state).toBe('held');
    });

    it("dies of a stall with onStall: 'exit' before its successor is granted the name", async () => {
      const { holder, succeed } = stage(kind);
      const program = holder('block for ever', { stallLimitMs: 400, onStall: 'exit' });
      const term = await termOf(program);
      const acquiredMs = performance.now();
      const ended = program.ended.then((end) => ({ end, atMs: performance.now() }));
      const granted = succeed().then((lease) => ({ lease, atMs: performance.now() }));
      const [{ end, atMs: endedMs }, { lease, atMs: grantedMs }] = await Promise.all([
        ended,
        granted,
      ]);
      expect(end).toBe('SIGKILL');
      expect(endedMs).toBeLessThan(grantedMs);
      expect(endedMs - acquiredMs).toBeLessThan(ttlMs);
      expect(lease.term).toBeGreaterThan(term);
      expect(program.output).not.toContain('woke');
    });
  },
);

describe('a process whose leases a thread renews', { timeout: 60_000 }, () => {
  it('holds nothing at its first statement after it was frozen as a whole past the ttl', async () => {
    const { holder, succeed, wake } = stage('redis');
    const program = holder('block until woken');
    await termOf(program);
    program.signal('SIGSTOP');
    await succeed();
    wake();
    program.signal('SIGCONT');
    expect((await program.says(/^woke: (\S+)/))[1]).toBe('lost');
  });

  it('dies when its store cannot be reached and its loop stands still, long before the limit of stalls', async () => {
    const { holder } = stage('redis');
    const module = new URL('./cut-off-store.mjs', import.meta.url).href;
    const program = holder('block for ever', { onStall: 'exit' }, { module, factory: 'cutOff' });
    await termOf(program);
    const acquiredMs = performance.now();
    expect(await program.ended).toBe('SIGKILL');
    // The limit is three ttls. That it is dead within one is a matter of milliseconds: stall.test.ts measures those.
    expect(performance.now() - acquiredMs).toBeLessThan(2 * ttlMs);
  });

  it('hears of a thread that crashed by a doubt and a report, loses the lease at its deadline, and ends well', async () => {
    const { holder } = stage('redis');
    const module = new URL('./crashing-store.mjs', import.meta.url).href;
    const program = holder('stay', {}, { module, factory: 'crashing' });
    await termOf(program);
    expect(await program.ended).toBe(0);
    expect(program.lines.slice(1)).toEqual([
      'uncertain renewal-failed',
      expect.stringMatching(/^renewal failed: UnreachableError: .*a bug in a client/),
      'lost unreachable',
      'left with 0 threads',
    ]);
  });

  it('acquires nothing if the thread cannot load its store', async () => {
    const { holder, record } = stage('redis');
    const program = holder('stay', {}, { factory: 'noSuchFactory' });
    expect(await program.ended).toBe(0);
    expect(program.output).toMatch(/refused: OptionError: coordinator.recipe .*noSuchFactory/);
    expect(await record()).toBeUndefined();
  });

  it('has changed metadata written by the thread', async () => {
    const { holder, record } = stage('redis');
    const program = holder('change metadata');
    await termOf(program);
    await expect.poll(record).toMatchObject({ metadata: '{"changed":true}' });
  });

  it('is not kept alive by the thread', async () => {
    const { holder } = stage('redis');
    const program = holder('leave without closing');
    expect(await program.ended).toBe(0);
    expect(program.lines.at(-1)).toBe('left with 1 threads');
  });

  it('has no thread left after close', async () => {
    const { holder } = stage('redis');
    const program = holder('release and close');
    expect(await program.ended).toBe(0);
    expect(program.lines.at(-1)).toBe('left with 0 threads');
  });
});

import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { commandWriter } from '../../../src/cli/next-command.js';
import { campaign } from '../../../src/cli/supervise/campaign.js';
import type { RunContext } from '../../../src/cli/supervise/run-context.js';
import { Signals } from '../../../src/cli/supervise/signals.js';
import { Voice } from '../../../src/cli/supervise/voice.js';
import type { Coordinator } from '../../../src/coordinators/index.js';
import { MemoryStore, memoryCoordinator } from '../../../src/coordinators/memory/index.js';
import { Elections } from '../../../src/elections/index.js';
import { StoreMisconfiguredError, UnreachableError } from '../../../src/errors/index.js';
import { Leases } from '../../../src/leases/index.js';
import { sleep } from '../../../src/time/index.js';
import { VirtualRuntime } from '../../../src/time/virtual.js';
import { altered } from '../../support/altered.js';
import { RecordingTerminal } from '../session.js';

function setUp(change: (coordinator: Coordinator, raise: (signal: string) => void) => Coordinator) {
  const runtime = new VirtualRuntime();
  const source = new EventEmitter();
  const raise = (signal: string) => void source.emit(signal, signal);
  const store = new MemoryStore({ runtime });
  const coordinator = change(memoryCoordinator(store, { runtime }), raise);
  const leases = new Leases(coordinator, { id: 'a', ttlMs: 30_000, runtime });
  const signals = new Signals(source);
  const context: RunContext = {
    plan: {
      name: 'work',
      command: { words: ['true'], isForShell: false },
      waitMs: Number.POSITIVE_INFINITY,
      graceMs: 0,
      restartsOnLoss: false,
      onLost: undefined,
    },
    runtime,
    leases,
    election: new Elections(leases).election('work'),
    signals,
    watch: {
      prepare() {},
      guard: async () => {},
      renewed() {},
      stopping() {},
      gone() {},
    },
    voice: new Voice(new RecordingTerminal(), 'run'),
    address: 'memory:',
    write: commandWriter({}),
    environment: {},
  };
  return { runtime, signals, context, coordinator, raise };
}

describe('a campaign of tenure run', () => {
  it('does not even begin if a signal came before', async () => {
    let requestCount = 0;
    const { context, raise } = setUp((coordinator) =>
      altered(coordinator, {
        read: (names, call) => {
          requestCount += 1;
          return coordinator.read(names, call);
        },
      }),
    );
    raise('SIGHUP');
    await expect(campaign(context)).rejects.toMatchObject({ status: 129 });
    expect(requestCount).toBe(0);
  });

  it('keeps a signal that comes while it leaves the queue for who works with the lease', async () => {
    const { context, runtime, signals } = setUp((coordinator, raise) =>
      altered(coordinator, {
        withdraw: (requests, call) => {
          raise('SIGTERM');
          return coordinator.withdraw(requests, call);
        },
      }),
    );
    const lease = await runtime.advanceUntil(campaign(context));
    expect(lease).toMatchObject({ state: 'held' });
    const heard: string[] = [];
    signals.passTo((signal) => heard.push(signal));
    expect(heard).toEqual(['SIGTERM']);
  });

  it('that may wait for so long gives up then, if the store cannot be reached', async () => {
    let requestCount = 0;
    const { context, runtime } = setUp((coordinator) =>
      altered(coordinator, {
        read: async (_names, { timeoutMs }) => {
          requestCount += 1;
          await sleep(runtime, timeoutMs);
          throw new UnreachableError('nobody is there');
        },
      }),
    );
    const startedMs = runtime.now().monotonicMs;
    const waiting = campaign({ ...context, plan: { ...context.plan, waitMs: 3_000 } });
    await expect(runtime.advanceUntil(waiting)).rejects.toThrow('nobody is there');
    expect(runtime.now().monotonicMs - startedMs).toBe(3_000);
    expect(requestCount).toBe(1);
  });

  it('tries again until then, if the store says at once that it cannot be reached', async () => {
    const { context, runtime, coordinator } = setUp((inner) => {
      let failures = 3;
      return altered(inner, {
        read: async (names, call) => {
          if (failures === 0) return inner.read(names, call);
          failures -= 1;
          throw new UnreachableError('nobody is there');
        },
      });
    });
    const waiting = campaign({ ...context, plan: { ...context.plan, waitMs: 3_000 } });
    expect(await runtime.advanceUntil(waiting)).toMatchObject({ state: 'held' });
    await coordinator.close();
  });

  describe('of one that is to go on after a loss, where the store refuses what it did not refuse before', () => {
    const refusal = new StoreMisconfiguredError('this server is a replica');
    /** The first so many requests of "a" for the lease are as they should be, then others are refused. */
    const refusing = (goodCount: number, badCount: number) => {
      let requestCount = 0;
      return setUp((inner) =>
        altered(inner, {
          acquire: async (requests, call) => {
            const isOfA = requests.some(({ holder }) => holder.id === 'a');
            if (isOfA) requestCount += 1;
            const isBad = requestCount > goodCount && requestCount <= goodCount + badCount;
            if (isOfA && isBad) throw refusal;
            return inner.acquire(requests, call);
          },
        }),
      );
    };
    const goingOn = (context: RunContext) => ({
      ...context,
      plan: { ...context.plan, restartsOnLoss: true },
    });

    it('goes on once it has stood in the queue, as soon as that is over', async () => {
      const { context, runtime, coordinator } = refusing(1, 3);
      const other = new Leases(coordinator, { id: 'b', ttlMs: 30_000, runtime });
      const held = await other.acquire('work');
      const waiting = campaign(goingOn(context));
      await runtime.advance(1_000);
      await held?.release();
      expect(await runtime.advanceUntil(waiting)).toMatchObject({ state: 'held' });
    });

    it('goes on if it has led before', async () => {
      const { context, runtime } = refusing(0, 3);
      const waiting = campaign(goingOn(context), true);
      expect(await runtime.advanceUntil(waiting)).toMatchObject({ state: 'held' });
    });

    it('ends if it has done neither, and so does one that need not go on', async () => {
      const first = refusing(0, 1);
      const atStart = campaign(goingOn(first.context));
      await expect(first.runtime.advanceUntil(atStart)).rejects.toBe(refusal);
      const other = refusing(0, 1);
      await expect(other.runtime.advanceUntil(campaign(other.context, true))).rejects.toBe(refusal);
    });
  });
});

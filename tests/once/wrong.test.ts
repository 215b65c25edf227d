import { AssertionError } from 'node:assert';
import { describe, expect, it } from 'vitest';
import { FaultLink } from '../../src/drivers/memory/index.js';
import { OutcomeUnknownError, TenureError } from '../../src/errors/index.js';
import { type OnceSubject, onceCases } from '../../src/once/conformance/index.js';
import type { OnceRecord, OnceStore } from '../../src/once/index.js';
import { MemoryKeys, memoryOnce } from '../../src/once/memory/index.js';
import type { StoredKey } from '../../src/once/rules/decisions.js';
import { runConformanceCase } from '../../src/testing.js';
import { VirtualRuntime } from '../../src/time/virtual.js';
import { call } from '../support/call.js';
import { setBack } from './set-back.js';

/** What a wrong store may use beside the right one that it spoils. */
interface Surroundings {
  readonly right: OnceStore;
  readonly state: MemoryKeys;
  readonly runtime: VirtualRuntime;
}

type Spoil = (around: Surroundings) => Partial<OnceStore>;

/** Writes what stands under a key, whatever the rules say. */
function change(state: MemoryKeys, key: string, fields: Partial<StoredKey>): void {
  const { stored } = state.find(key);
  if (stored !== undefined) state.put(key, { ...stored, ...fields });
}

/** A record as the wall clock would judge it. */
function ahead(state: MemoryKeys, runtime: VirtualRuntime, record: OnceRecord | undefined) {
  const { stored } = state.find(record?.key ?? '');
  if (record === undefined || stored === undefined) return record;
  return { ...record, remainingMs: stored.deadlineAtMs - runtime.now().wallMs };
}

/** Stores that break one promise each, and the case that has to reject them. */
const wrongs: Readonly<Record<string, readonly [caseId: string, spoil: Spoil]>> = {
  'begins again what failed': [
    'begins/failed',
    ({ right }) => ({
      begin: async (request, own) => {
        const result = await right.begin(request, own);
        if (result.outcome !== 'unknown') return result;
        const { attempt, startedAtMs } = result.record;
        const repeat = { attempt, startedAtMs, by: 'nobody', reason: 'because' };
        return right.begin({ ...request, repeat }, own);
      },
    }),
  ],
  'takes an attempt that is overdue for one under way': [
    'begins/overdue',
    ({ right }) => ({
      begin: async (request, own) => {
        const { outcome, record } = await right.begin(request, own);
        return { outcome: outcome === 'unknown' ? 'under-way' : outcome, record };
      },
    }),
  ],
  'repeats whichever attempt is unknown': [
    'begins/repeat-another',
    ({ right }) => ({
      begin: async (request, own) => {
        const current = await right.read(request.key, own);
        const repeat = request.repeat && current && { ...request.repeat, ...current };
        return right.begin({ ...request, repeat }, own);
      },
    }),
  ],
  'does not recognise a request that is repeated': [
    'begins/repeated-request',
    ({ right, runtime }) => ({
      begin: (request, own) => right.begin({ ...request, nonce: runtime.randomHex(16) }, own),
    }),
  ],
  'begins with a nonce that is spent': [
    'begins/spent',
    ({ right, state, runtime }) => ({
      begin: async (request, own) => {
        const { stored } = state.find(request.key);
        if (stored?.state === 'free') change(state, request.key, { owner: runtime.randomHex(16) });
        return right.begin(request, own);
      },
    }),
  ],
  'lets anybody end an attempt': [
    'ends/stranger',
    ({ right, state }) => ({
      end: (request, own) => {
        change(state, request.key, { owner: request.nonce });
        return right.end(request, own);
      },
    }),
  ],
  'lets whoever is late overwrite a settlement': [
    'ends/settled-meanwhile',
    ({ right, state }) => ({
      end: async (request, own) => {
        const { stored } = state.find(request.key);
        if ((stored?.settlements.length ?? 0) > 0)
          change(state, request.key, { owner: request.nonce, state: 'unknown' });
        return right.end(request, own);
      },
    }),
  ],
  'takes back an end': [
    'ends/late-unknown',
    ({ right, state }) => ({
      end: async (request, own) => {
        if (request.end.kind === 'unknown') change(state, request.key, { state: 'started' });
        return right.end(request, own);
      },
    }),
  ],
  'does not keep results': [
    'ends/fields',
    ({ right, state }) => ({
      end: async (request, own) => {
        const result = await right.end(request, own);
        change(state, request.key, { result: 'null' });
        return result;
      },
    }),
  ],
  'settles what is under way': [
    'operators/settle-refused',
    ({ right, state }) => ({
      settle: (request, own) => {
        change(state, request.key, { state: 'unknown' });
        return right.settle(request, own);
      },
    }),
  ],
  'settles another attempt than the one that is meant': [
    'operators/settle-another',
    ({ right }) => ({
      settle: (request, own) => right.settle({ ...request, of: undefined }, own),
    }),
  ],
  'does not say who has settled': [
    'operators/settle-done',
    ({ right, state }) => ({
      settle: async (request, own) => {
        const result = await right.settle(request, own);
        change(state, request.key, { settlements: [] });
        return result;
      },
    }),
  ],
  'shows the first page again and again': [
    'operators/unknown',
    ({ right }) => ({ unknown: ({ limit }, own) => right.unknown({ limit }, own) }),
  ],
  'believes a start that lies ahead': [
    'operators/clock-set-back',
    ({ right, state, runtime }) => ({
      read: async (key, own) => ahead(state, runtime, await right.read(key, own)),
    }),
  ],
  'takes for unknown what may still run once the clock was set back': [
    'operators/clock-set-back',
    ({ right, state, runtime }) => ({
      begin: async (request, own) => {
        const { stored } = state.find(request.key);
        if (stored && stored.startedAtMs > runtime.now().wallMs)
          change(state, request.key, { state: 'unknown' });
        return right.begin(request, own);
      },
    }),
  ],
  'forgets too early': [
    'operators/forget',
    ({ state }) => ({
      forget: async () => {
        const { size } = state.keys;
        state.keys.clear();
        return size;
      },
    }),
  ],
  'never forgets': [
    'operators/expired',
    ({ right, state }) => ({
      read: async (key, own) => {
        const { stored } = state.find(key);
        const { expiresAtMs: _, ...rest } = stored ?? {};
        if (stored !== undefined) state.put(key, rest as StoredKey);
        return right.read(key, own);
      },
    }),
  ],
  'executes what its caller has given up': [
    'faults/late-request',
    ({ right, runtime }) => ({
      begin: (request, { timeoutMs }) =>
        new Promise((resolve, reject) => {
          right.begin(request, { timeoutMs: 1e6 }).then(resolve, reject);
          runtime.setTimer(timeoutMs, () => reject(new OutcomeUnknownError('no answer came')));
        }),
    }),
  ],
};

async function subject(spoil: Spoil): Promise<OnceSubject> {
  const runtime = new VirtualRuntime();
  const state = new MemoryKeys({ runtime });
  const link = new FaultLink();
  const spoilt = (right: OnceStore): OnceStore => {
    const bound = Object.fromEntries(
      (['begin', 'end', 'settle', 'read', 'unknown', 'forget', 'close'] as const).map((name) => [
        name,
        (right[name] as (...values: never[]) => unknown).bind(right),
      ]),
    );
    return { promises: right.promises, ...bound, ...spoil({ right, state, runtime }) } as OnceStore;
  };
  return {
    store: spoilt(memoryOnce(state, { link })),
    other: spoilt(memoryOnce(state)),
    pass: (durationMs) => runtime.advance(durationMs),
    until: (promise) => runtime.advanceUntil(promise),
    controls: {
      loseReplies: async () => link.disturb('reply', 'drop'),
      holdRequests: async () => link.disturb('request', 'hold'),
      flushRequests: async () => {
        link.flush();
        await runtime.settle();
      },
      cut: async () => link.cut(),
      heal: async () => link.heal(),
      expire: async (key) => change(state, key, { expiresAtMs: state.find(key).nowMs }),
      setBack: async (key, durationMs) => setBack(state, key, durationMs),
    },
    close: async () => {},
  };
}

function caseOf(id: string) {
  const found = onceCases.find((one) => one.id === id);
  if (found === undefined) throw new Error(`there is no case ${id}`);
  return found;
}

describe('the suite of stores of keys', () => {
  it.each(Object.entries(wrongs))('rejects one that %s', async (_, [caseId, spoil]) => {
    const create = () => subject(spoil);
    const error = await runConformanceCase(caseOf(caseId), { create }).catch((thrown) => thrown);
    // Found out by what it did, not by a bug in the wrong store.
    expect(error instanceof AssertionError || error instanceof TenureError, `${error}`).toBe(true);
  });

  it('accepts the one that they are made from, in each of these cases', async () => {
    for (const [caseId] of Object.values(wrongs))
      await runConformanceCase(caseOf(caseId), { create: () => subject(() => ({})) });
    const record = await memoryOnce().read('nothing', call);
    expect(record).toBeUndefined();
  });
});

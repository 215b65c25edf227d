import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Coordinator } from '../../src/coordinators/index.js';
import { evidenceDocumentOf, mergeEvidence } from '../../src/elections/evidence/document.js';
import { EvidenceWriter } from '../../src/elections/evidence/writer.js';
import {
  RecordCorruptError,
  StoreMisconfiguredError,
  StoreRefusedError,
  UnreachableError,
} from '../../src/errors/index.js';
import { Elections, Leases, readEvidence } from '../../src/index.js';
import { candidate, ElectionFixture, name, TestWork, ttlMs } from '../elections/fixture.js';
import { call } from '../support/call.js';
import { loss, note, startMs } from './facts.js';

let fixture: ElectionFixture;

beforeEach(() => {
  fixture = new ElectionFixture();
});
afterEach(() => fixture.close());

const kept = (of = name) => readEvidence(fixture.operator, of, call);

/** As a store behaves whose password was changed: while it is shut, every request is refused. */
function shuttable(coordinator: Coordinator) {
  const door = { isShut: false, refusedCount: 0 };
  const guarded = new Proxy(coordinator, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...input: unknown[]) => {
        const isRequest = !/^(?:on|watch$|close$)/.test(String(property));
        if (!door.isShut || !isRequest) return value.apply(target, input);
        door.refusedCount += 1;
        return Promise.reject(new StoreMisconfiguredError('NOAUTH: it wants a password'));
      };
    },
  });
  return { guarded, door };
}

/** Leads through such a door, or waits to. */
function process(id: string) {
  const { coordinator, runtime } = fixture.process(id);
  const { guarded, door } = shuttable(coordinator);
  const leases = new Leases(guarded, { id, runtime, ttlMs });
  const elections = new Elections(leases);
  const election = elections.election(name);
  const told: unknown[] = [];
  election.events.on('evidenceFailed', ({ error }) => told.push(error));
  const leading = election.lead(new TestWork().run);
  leading.catch(() => {});
  const close = async () => {
    await fixture.runtime.advanceUntil(elections.close());
    await fixture.runtime.advanceUntil(leases.close());
  };
  return { door, told, election, close };
}

describe('what was seen of a loss, and the store refused to keep', () => {
  it('is kept when the store lets this process in again, and told once as not kept', async () => {
    const { runtime } = fixture;
    const a = process('a');
    await runtime.advance(5_000);
    a.door.isShut = true;
    await runtime.advance(10_000);
    expect(a.election.current).toBeUndefined();
    expect(a.told).toMatchObject([{ code: 'TENURE_STORE_MISCONFIGURED' }]);
    a.door.isShut = false;
    await runtime.advance(15_000);
    expect(a.election.current).toBeDefined();
    expect(await kept()).toContainEqual(
      expect.objectContaining({ kind: 'loss', holderId: 'a', errors: { denied: 7 } }),
    );
    expect(a.told).toHaveLength(1);
    await a.close();
  });

  it('is kept as soon as a standby stands in the queue again, however long that took', async () => {
    const { runtime } = fixture;
    const a = process('a');
    await runtime.advance(5_000);
    a.door.isShut = true;
    const other = candidate(fixture, 'other');
    await runtime.advance(50 * 60_000);
    expect(other.election.current).toBeDefined();
    a.door.isShut = false;
    const admitted = new Promise<void>((resolve) => {
      a.election.onAdmitted(() => resolve());
    });
    await runtime.advanceUntil(admitted);
    await runtime.advance(1_000);
    expect((await kept()).filter(({ kind }) => kind === 'loss')).toMatchObject([{ holderId: 'a' }]);
    expect(a.told).toHaveLength(1);
    await a.close();
  });
});

describe('who writes evidence', () => {
  const writerOf = (documents: Partial<Coordinator>) => {
    const { runtime } = fixture;
    const told: string[] = [];
    const writer = new EvidenceWriter({
      runtime,
      timeoutMs: 1_000,
      coordinator: documents as Coordinator,
      onRefused: (of) => told.push(of),
    });
    const close = () => runtime.advanceUntil(writer.close());
    return { writer, told, close };
  };
  const refusing = (error: () => unknown) => {
    const { operator } = fixture;
    const store = { requestCount: 0, isOpen: false };
    const readDocument: Coordinator['readDocument'] = async (...input) => {
      store.requestCount += 1;
      if (!store.isOpen) throw error();
      return operator.readDocument(...input);
    };
    return { store, readDocument, writeDocument: operator.writeDocument.bind(operator) };
  };

  it('asks ever more rarely a store that refuses it, and at once when that has answered others', async () => {
    const { runtime } = fixture;
    const { store, ...documents } = refusing(() => new StoreMisconfiguredError('NOPERM'));
    const { writer, close } = writerOf(documents);
    writer.add(loss(1));
    await runtime.advance(60 * 60_000);
    expect(store.requestCount).toBeGreaterThan(15);
    expect(store.requestCount).toBeLessThan(35);
    store.isOpen = true;
    writer.reached();
    await runtime.advance(10);
    expect(await kept()).toHaveLength(1);
    await close();
  });

  it('writes what a foreign document does not concern, and the rest when that is gone', async () => {
    const { runtime, operator } = fixture;
    const spoilt = evidenceDocumentOf(name);
    await operator.writeDocument(spoilt, 'something foreign', 0, call);
    const { writer, told, close } = writerOf(operator);
    writer.add(loss(1));
    writer.add(loss(1, { name: 'reports' }));
    await runtime.advance(10);
    expect(await kept('reports')).toHaveLength(1);
    await runtime.advance(10 * 60_000);
    writer.add(loss(2, { name: 'reports', atMs: startMs + 60_000 }));
    await runtime.advance(10);
    expect(await kept('reports')).toHaveLength(2);
    expect(new Set(told)).toEqual(new Set([name]));
    await operator.writeDocument(spoilt, '{"format":1,"entries":[]}', 1, call);
    await runtime.advance(5 * 60_000);
    expect(await kept()).toHaveLength(1);
    await close();
  });

  it('writes what a refused document does not concern, and tells of that', async () => {
    const { runtime, operator } = fixture;
    const spoilt = evidenceDocumentOf(name);
    const { writer, told, close } = writerOf({
      readDocument: (document, options) => operator.readDocument(document, options),
      writeDocument: async (document, ...rest) => {
        if (document === spoilt) throw new StoreRefusedError('TOO_LARGE', 'it is too large');
        return operator.writeDocument(document, ...rest);
      },
    });
    writer.add(loss(1));
    writer.add(loss(1, { name: 'reports' }));
    await runtime.advance(10);
    expect(await kept('reports')).toHaveLength(1);
    expect(told).toEqual([name]);
    await close();
  });

  it.each([
    ['refused', () => new StoreMisconfiguredError('NOPERM')],
    ['not reached', () => new UnreachableError('nothing listens there')],
  ])(
    'still has the loss after a day on which the store was %s and that was noted each minute',
    async (_, error) => {
      const { runtime } = fixture;
      const { store, ...documents } = refusing(error);
      const { writer, close } = writerOf(documents);
      writer.add(loss(1));
      for (let minute = 0; minute < 24 * 60; minute++)
        writer.add(note('store-failed', 60 * minute));
      store.isOpen = true;
      await runtime.advance(1_000);
      writer.reached();
      await runtime.advance(1_000);
      const entries = await kept();
      expect(entries[0]).toMatchObject({ kind: 'loss' });
      expect(entries).toHaveLength(30);
      await close();
    },
  );

  it('leaves no timer, and asks each document once more at its close', async () => {
    const { runtime } = fixture;
    const { store, ...documents } = refusing(() => new RecordCorruptError('foreign'));
    const { writer, close } = writerOf(documents);
    writer.add(loss(1));
    writer.add(loss(1, { name: 'reports' }));
    await runtime.advance(400);
    const before = store.requestCount;
    await close();
    expect(store.requestCount).toBe(before + 2);
    expect(runtime.pendingTimerCount).toBe(0);
  });
});

describe('notes that say the same again', () => {
  it('push out no loss', () => {
    let merged = mergeEvidence([], [loss(1)], startMs);
    for (let minute = 1; minute <= 60; minute++) {
      const atMs = startMs + minute * 60_000;
      merged = mergeEvidence(merged, [note('store-failed', 60 * minute)], atMs);
      expect(merged.at(-1)).toMatchObject({ atMs });
    }
    expect(merged).toHaveLength(30);
    expect(merged[0]).toMatchObject({ kind: 'loss' });
  });
});

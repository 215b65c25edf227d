import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Candidate } from '../../src/coordinators/candidates.js';
import { Holder } from '../../src/coordinators/index.js';
import { parseTable } from '../../src/coordinators/redis/candidates.js';
import { parseLine } from '../../src/coordinators/redis/history.js';
import { parseRecord } from '../../src/coordinators/redis/record.js';
import { QuorumKeys } from '../../src/coordinators/redis-quorum/keys.js';
import { mergeCandidates } from '../../src/coordinators/redis-quorum/merge/candidates.js';
import { mergeLines } from '../../src/coordinators/redis-quorum/merge/history.js';
import {
  type Memory,
  mergeDocuments,
  mergeGroups,
  mergeHistories,
  mergeRecords,
  mergeSuspensions,
  mergeTerms,
} from '../../src/coordinators/redis-quorum/merge/memories.js';
import { mergeViews } from '../../src/coordinators/redis-quorum/merge/records.js';
import {
  OutcomeUnknownError,
  RecordCorruptError,
  UnreachableError,
} from '../../src/errors/index.js';
import { type RedisQuorumCoordinator, redisQuorumCoordinator } from '../../src/redis.js';
import { realRuntime } from '../../src/time/index.js';
import { call } from '../support/call.js';
import { type RedisQuorumServers, startRedisQuorum } from '../support/servers/index.js';
import { damaged, foreignTexts } from './damage.js';
import { useHostileNames } from './hostile-use.js';
import { fewOrAll } from './rounds.js';

const nonce = '0123456789abcdef0123456789abcdef';
const nowMs = 1_790_000_000_000;
const head = `1790000000000|ann:${nonce}|60000|2000|2592000000|${nonce}|${nowMs}`;
const record = `2E|${head}|{"a":"|"}`;
const texts = [
  record,
  `2X|${head}|${nowMs}|["ops","drill"]|bob|500|"|"`,
  '2R|1790000000000|bob|60000',
];
const wrongTexts = texts.flatMap((text, seed) => damaged(text, seed + 20));

const found = (text: string, suspension: string | null = null) =>
  parseRecord('job', { text, remainingMs: -1, suspension, nowMs });
const quota = { majority: 2, silentCount: 0 };

function memory(value: Memory['value'], kind: Memory['kind'] = 'string', lifeMs = 5): Memory {
  return { key: 'key', kind, lifeMs, value };
}

const others: readonly Memory[] = [
  memory(['a', 'b'], 'list'),
  memory(['a', '1', 'b'], 'hash'),
  memory(['a', '1', 'b', 'inf', 'c', 'nan'], 'zset'),
  memory('', 'string'),
  memory([], 'list'),
];

describe('what the nodes of a quorum remember of a name, some of which somebody has meddled with', () => {
  it('is merged to a record that a node takes for one of ours, and never to less than one that is', () => {
    const sound = memory(record, 'string', 60_000);
    const kept = mergeRecords([sound])?.value;
    for (const wrong of [...wrongTexts, ...foreignTexts]) {
      const shown = wrong.slice(0, 200);
      for (const memories of [[memory(wrong)], [memory(wrong), ...others]]) {
        const alone = mergeRecords(memories);
        if (alone !== undefined) expect(found(String(alone.value)), shown).toBeDefined();
      }
      const merged = mergeRecords([memory(wrong), sound, ...others]);
      const isOurs = mergeRecords([memory(wrong)]) !== undefined;
      if (!isOurs) expect([merged?.value, merged?.lifeMs], shown).toEqual([kept, 60_000]);
      else expect(merged, shown).toBeDefined();
    }
  });

  it('is merged to the highest term that is one', () => {
    const wrong = ['', 'x', '-1', '0', 'NaN', '1e3', '9'.repeat(16), '9'.repeat(400), ' 9', '0x9'];
    for (const one of wrong) {
      expect(mergeTerms([memory(one)]), one).toBeUndefined();
      for (const memories of [
        [memory(one), memory('7'), memory('8'), ...others],
        [memory('8'), memory(one), memory('7')],
        [memory('7'), memory('8'), memory(one)],
      ])
        expect(mergeTerms(memories)?.value, one).toBe('8');
    }
  });

  it('is merged to the document that was accepted last, whatever else stands there', () => {
    const ballot = (number: number) => `${String(number).padStart(16, '0')}.${nonce.slice(16)}`;
    const document = (...fields: string[]) => memory(fields, 'hash');
    const first = document('ballot', ballot(1), 'version', '1', 'text', 'a', 'promised', ballot(2));
    const second = document('ballot', ballot(2), 'version', '2', 'text', 'b');
    for (const wrong of ['z', '~', '9'.repeat(33), ballot(1).slice(1), `${ballot(9)}0`, '\uffff'])
      for (const bad of [
        document('ballot', wrong, 'version', '9', 'text', 'c'),
        document('ballot', ballot(1), 'promised', wrong),
      ]) {
        const merged = mergeDocuments([bad, first, second, ...others]);
        expect(merged?.value, wrong).toEqual(
          expect.arrayContaining(['ballot', ballot(2), 'text', 'b', 'promised', ballot(2)]),
        );
        expect(merged?.value).not.toContain(wrong);
      }
  });

  it('is merged without what is of another type', () => {
    const lines = memory(['1T|7|ann|1|2|released'], 'list', 9);
    expect(mergeHistories([...others, lines])?.value).toContain('1T|7|ann|1|2|released');
    expect(mergeHistories([memory('text'), memory(['a', 'b'], 'hash')])).toBeUndefined();
    const index = memory(['a', '5'], 'zset');
    expect(mergeGroups([index, ...others])?.value).toEqual(expect.arrayContaining(['a', '5']));
    expect(mergeGroups([memory('text')])).toBeUndefined();
    const suspended = memory(['a', '1|5|["ops","drill"]'], 'hash');
    expect([...mergeSuspensions([suspended, memory('text')], [memory('text')])]).toEqual([
      ['a', '1|5|["ops","drill"]'],
    ]);
  });
});

describe('the answers of the nodes of a quorum, one of which somebody has meddled with', () => {
  const view = (text: string) => {
    const one = found(text);
    return one === 'free' ? undefined : one;
  };

  it('are merged to what the two others show', () => {
    const two = [view(record), view(record)];
    const term = 1_790_000_000_000;
    expect(mergeViews(two, quota)).toMatchObject({ state: 'held', term });
    for (const wrong of wrongTexts)
      for (const views of [
        [view(wrong), ...two],
        [...two, view(wrong)],
      ]) {
        const merged = mergeViews(views, quota);
        expect(merged, wrong.slice(0, 200)).toMatchObject({
          state: 'held',
          term,
        });
      }
  });

  it('are merged to a queue without whom only that one knows', () => {
    const entry = (id: string) => `1|${id}|waiting|50|${nowMs}|${nowMs}|60000|{}`;
    const table = (...fields: string[]): Candidate[] => parseTable(fields, nowMs);
    const sound = table(`d:${nonce}`, entry('ann'));
    for (const wrong of damaged(entry('ann'), 31)) {
      const list = table(`d:${nonce}`, wrong, `d:${'f'.repeat(32)}`, entry('mallory'), 'd:', wrong);
      const merged = mergeCandidates([list, sound, sound], quota);
      expect(
        merged.map(({ id }) => id),
        wrong.slice(0, 200),
      ).toEqual(['ann']);
    }
  });

  it('are merged to a history without lines that only that one has', () => {
    const line = '1T|7|ann|1790000000000|1790000000001|released';
    for (const wrong of damaged(line, 33)) {
      const merged = mergeLines([[wrong, wrong], [line], [line]], quota);
      const expected = [expect.objectContaining({ term: 7, holderId: 'ann' })];
      expect(merged.map(parseLine), wrong.slice(0, 200)).toEqual(expected);
    }
  });
});

/** A node that does not answer within a second, on a busy machine, is asked again: all that is asked here may be repeated. */
function insisting(coordinator: RedisQuorumCoordinator): RedisQuorumCoordinator {
  return new Proxy(coordinator, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function' || key === 'close') return bound(value, target);
      return async (...values: unknown[]) => {
        for (const startedAtMs = Date.now(); ; ) {
          try {
            return await value.apply(target, values);
          } catch (error) {
            const isUnheard =
              error instanceof UnreachableError || error instanceof OutcomeUnknownError;
            if (!isUnheard || Date.now() - startedAtMs > call.timeoutMs) throw error;
          }
        }
      };
    },
  });
}

const bound = (value: unknown, target: object) =>
  typeof value === 'function' ? value.bind(target) : value;

describe('a quorum of three servers', () => {
  let servers: RedisQuorumServers;
  let admins: Redis[];
  const open: RedisQuorumCoordinator[] = [];

  beforeAll(async () => {
    servers = await startRedisQuorum(3);
    admins = servers.nodes.map(({ url }) => new Redis(url));
  });
  afterAll(async () => {
    for (const one of open) await one.close();
    for (const admin of admins ?? []) admin.disconnect();
    await servers?.stop();
  });

  function newSpace(namespace: string) {
    const options = { namespace, nodeTimeoutMs: 1_000, connectTimeoutMs: 30_000 };
    const coordinator = insisting(redisQuorumCoordinator(servers.url, options));
    open.push(coordinator);
    return { coordinator, keys: new QuorumKeys(namespace) };
  }

  it('takes hostile names as they are, none as another', async () => {
    const { coordinator } = newSpace(`*{}[]'"\\%?$;-- é`);
    await useHostileNames(coordinator);
  });

  it('goes on if somebody has meddled with one of them, and says so if with two: a document', async () => {
    const { coordinator, keys } = newSpace('documents');
    const wrong: readonly (readonly [field: string, text: string])[] = [
      ...['', 'z', '9'.repeat(33), '\uffff', `${'0'.repeat(16)}.${'z'.repeat(16)}`].flatMap(
        (text) => [['ballot', text] as const, ['promised', `x${text}`] as const],
      ),
      ...['', 'x', '-1', '1.5', '1e3', '9'.repeat(16), '9'.repeat(400)].map(
        (text) => ['version', text] as const,
      ),
      ['nonce', 'not hexadecimal'],
    ];
    for (const [index, [field, text]] of wrong.entries()) {
      const name = `pins-${index}`;
      const what = `${field} ${text.slice(0, 40)}`;
      await coordinator.writeDocument(name, 'one', 0, call);
      await admins[0]?.hset(keys.document(name), field, text);
      expect(await coordinator.readDocument(name, call), what).toEqual({ version: 1, text: 'one' });
      await coordinator.writeDocument(name, 'two', 1, call);
      expect(await coordinator.readDocument(name, call), what).toEqual({ version: 2, text: 'two' });
      for (const admin of admins.slice(1)) await admin.hset(keys.document(name), field, text);
      for (const ask of [
        () => coordinator.readDocument(name, call),
        () => coordinator.writeDocument(name, 'three', 2, call),
      ])
        await expect(ask(), what).rejects.toThrow(RecordCorruptError);
    }
  });

  it('goes on if somebody has meddled with one of them, and grants nothing if with two: a lease', async () => {
    const { coordinator, keys } = newSpace('leases');
    const all = [...new Set([...foreignTexts, ...damaged(record, 40)])];
    const isOver = (text: string) =>
      /^2[LEX]\|\d+\|[^|]*\|0*\|/.test(text) || text.startsWith('2R|');
    const storable = all.filter((text) => text.isWellFormed() && !isOver(text));
    const wrong = fewOrAll(
      storable.filter((text) => found(text) === undefined),
      30,
      3,
    );
    const meddle = async (text: string, index: number) => {
      const name = `name-${index}`;
      const [ann, bob] = ['ann', 'bob'].map((id) => Holder.create(id, realRuntime));
      if (ann === undefined || bob === undefined) throw new Error('two holders');
      const acquire = async (holder: Holder) => {
        const request = { name, holder, attempt: realRuntime.randomHex(16), ttlMs: 60_000 };
        const [result] = await coordinator.acquire([request], call);
        return result;
      };
      const granted = await acquire(ann);
      const term = granted?.outcome === 'granted' ? granted.term : expect.fail('not granted');
      const shown = text.slice(0, 100);
      await admins[0]?.set(keys.place(name).lease, text);
      expect((await acquire(bob))?.outcome, shown).toBe('held');
      const own = { name, holder: ann, term, ttlMs: 60_000 };
      expect(await coordinator.renew([own], call), shown).toMatchObject([{ outcome: 'renewed' }]);
      await admins[1]?.set(keys.place(name).lease, text);
      expect((await acquire(bob))?.outcome, shown).not.toBe('granted');
      await expect(coordinator.read([name], call), shown).rejects.toThrow(RecordCorruptError);
    };
    // Few at a time: none of the leases may be over before it is looked at.
    for (let from = 0; from < wrong.length; from += 20)
      await Promise.all(wrong.slice(from, from + 20).map((text, at) => meddle(text, from + at)));
  });
});

import { describe, expect, it } from 'vitest';
import {
  afterValue,
  candidateValue,
  documentValue,
  historyValue,
  queueValue,
  sessionAtMs,
  spaceValue,
  suspensionValue,
  waiterValue,
} from '../../src/coordinators/etcd/values.js';
import { Holder, isTerm } from '../../src/coordinators/index.js';
import { parseTable } from '../../src/coordinators/redis/candidates.js';
import { parseLine } from '../../src/coordinators/redis/history.js';
import { parseRecord } from '../../src/coordinators/redis/record.js';
import { parseWords } from '../../src/coordinators/redis/words.js';
import { decodeCandidate } from '../../src/coordinators/zookeeper/entries.js';
import { type Place, parsePlace, tagOf } from '../../src/coordinators/zookeeper/places.js';
import { decodeLeaseNode, decodeState } from '../../src/coordinators/zookeeper/state.js';
import { readRoot } from '../../src/coordinators/zookeeper/terms.js';
import { parseEvidenceDocument } from '../../src/elections/evidence/document.js';
import { parseMetadata } from '../../src/elections/metadata.js';
import { TenureError } from '../../src/errors/index.js';
import { parseRecord as parseOnceInRedis } from '../../src/once/redis/replies.js';
import { decodeKey, parseRecord as parseShownOnce } from '../../src/once/rules/texts.js';
import {
  decodeCancellation,
  decodeJob,
  decodeOpenRun,
  decodePause,
  decodeRequest,
  decodeRun,
} from '../../src/schedule/rules/texts.js';
import { parseMember } from '../../src/shards/members.js';
import { parsePins } from '../../src/shards/pin-document.js';
import { StreamKeys } from '../../src/streams/redis/keys.js';
import { parseStep, parseTopic } from '../../src/streams/redis/replies.js';
import { damaged } from './damage.js';

const nonce = '0123456789abcdef0123456789abcdef';
const holder = `ann:${nonce}`;
const { digest } = new Holder('ann', nonce);
const wroteAtMs = 1_790_000_000_000;
const head = `1790000000000|${holder}|60000|2000|2592000000|${nonce}|${wroteAtMs}`;
const revocation = { by: 'ops', reason: 'drill', atMs: wroteAtMs, reserveMs: 500, to: 'bob' };
const line = { kind: 'term', term: 7, holderId: 'ann', grantedAtMs: wroteAtMs };
const act = { kind: 'act', act: 'revoke', by: 'ops', reason: 'drill', atMs: wroteAtMs, to: 'bob' };
const leader = {
  ...{ tenure: 1, state: 'leads', holder, attempt: nonce, ttlMs: 60_000, graceMs: 0, offset: 0 },
  ...{ grantedAtMs: wroteAtMs, renewedAtMs: wroteAtMs, metadata: '{}', revocation },
};
const by = { modifiedZxid: 4_294_967_299, modifiedAtMs: wroteAtMs };
const zooLease = {
  ...{ holder, attempt: nonce, term: 7, graceMs: 10, grantedAtMs: wroteAtMs, session: nonce },
  revocation,
};

interface Codec {
  readonly of: string;
  readonly valid: readonly string[];
  /** What stands there, as the store reads it. */
  readonly parse: (text: string) => unknown;
  /** Of a lease they are nonces. */
  readonly attemptsAre?: 'numbers';
}

const redisRecord = (suspension: string | null) => (text: string) =>
  parseRecord('job', { text, remainingMs: 50_000, suspension, nowMs: wroteAtMs });

const codecs: readonly Codec[] = [
  {
    of: 'a record in Redis',
    valid: [
      `2L|${head.replace('|2000|2592000000|', '|0|0|')}|{"a":"|"}`,
      `2E|${head}|`,
      `2X|${head}|${wroteAtMs}|["ops","drill"]|bob|500|"|"`,
      '2R|1790000000000|bob|60000',
    ],
    parse: redisRecord(null),
  },
  {
    of: 'a suspension in Redis',
    valid: [`1|${wroteAtMs}|["ops","drill"]`],
    parse: (suspension) =>
      parseRecord('job', { text: null, remainingMs: -2, suspension, nowMs: wroteAtMs }),
  },
  {
    of: 'a line of history in Redis',
    valid: [
      `1T|7|ann|${wroteAtMs}|${wroteAtMs}|released`,
      `1A|revoke|${wroteAtMs}|bob|["ops","drill"]`,
    ],
    parse: parseLine,
  },
  { of: 'who acted and why in Redis', valid: ['["ops","drill"]'], parse: parseWords },
  {
    of: 'a candidate in Redis',
    valid: [`1|ann|waiting|50|${wroteAtMs}|${wroteAtMs}|60000|{"a":1}`],
    parse: (text) => parseTable([`d:${nonce}`, text, text, text], wroteAtMs),
  },
  {
    of: 'a place in the queue in etcd',
    valid: [JSON.stringify(leader), JSON.stringify({ tenure: 1, state: 'waits', holder })],
    parse: queueValue,
  },
  {
    of: 'what follows a leader in etcd',
    valid: [
      JSON.stringify({ tenure: 1, term: 7, delayMs: 10, reserveMs: 20, to: 'bob', revocation }),
      JSON.stringify({ tenure: 1, term: null, offset: 3, delayMs: 1, startedAtMs: wroteAtMs }),
    ],
    parse: (text) => afterValue(text, 99),
  },
  {
    of: 'a candidate in etcd',
    valid: [
      JSON.stringify({
        ...{ tenure: 1, holder, standing: 'waiting', preference: 50, ttlMs: 60_000 },
        ...{ sinceMs: wroteAtMs, since: 12, queueKey: `job/1-${digest}`, metadata: '{}' },
      }),
    ],
    parse: (text) => [candidateValue(text), waiterValue(text)],
  },
  {
    of: 'a history in etcd',
    valid: [
      JSON.stringify({
        tenure: 1,
        lines: [{ ...line, term: null, offset: 1, lease: '77' }, act, { ...line, endedAtMs: 1 }],
      }),
    ],
    parse: (text) => historyValue(text, 99),
  },
  {
    of: 'a suspension in etcd',
    valid: [JSON.stringify({ tenure: 1, by: 'ops', reason: 'drill', atMs: wroteAtMs })],
    parse: suspensionValue,
  },
  {
    of: 'a document in etcd',
    valid: [JSON.stringify({ tenure: 1, version: 3, text: '{}' })],
    parse: documentValue,
  },
  {
    of: 'what a namespace has in common in etcd',
    valid: [
      JSON.stringify({ tenure: 1, offset: 3, historyLease: '7', historyLeaseAtMs: wroteAtMs }),
    ],
    parse: (text) => [spaceValue(text), sessionAtMs(text)],
  },
  {
    of: 'a node of a name in ZooKeeper',
    valid: [
      JSON.stringify({ tenure: 1, base: 5, lease: zooLease, history: [line, act] }),
      JSON.stringify({
        tenure: 1,
        after: { kind: 'reservation', to: 'b', term: 7, deadlineMs: 9 },
      }),
      JSON.stringify({
        tenure: 1,
        after: { kind: 'lock-delay', term: 7, deadlineMs: 9, revocation },
        suspension: { by: 'ops', reason: 'drill', atMs: wroteAtMs },
      }),
      JSON.stringify({ tenure: 1, swept: true }),
    ],
    parse: (text) => decodeState(Buffer.from(text), by),
  },
  {
    of: 'a node of a lease in ZooKeeper',
    valid: [JSON.stringify({ tenure: 1, ttlMs: 60_000, metadata: '{}' })],
    parse: (text) => decodeLeaseNode(Buffer.from(text)),
  },
  {
    of: 'a table of pins',
    valid: [
      JSON.stringify({
        format: 1,
        shardCount: 256,
        pins: [
          ['a', 300],
          ['b', 12, 301],
        ],
      }),
    ],
    parse: (text) => parsePins('pins', { version: 1, text }, 256),
  },
  {
    of: 'evidence',
    valid: [
      JSON.stringify({
        format: 1,
        entries: [
          { kind: 'note', name: 'job', holderId: 'ann', atMs: wroteAtMs, what: 'revoked', term: 7 },
          {
            ...{ kind: 'loss', name: 'job', holderId: 'ann', atMs: wroteAtMs, reason: 'expired' },
            ...{ term: 7, renewals: { last: [{ ms: 3 }] }, errors: { timeout: 1 } },
            machine: { all: { forMs: 3 } },
          },
        ],
      }),
    ],
    // Of a note, a term of 0 says that there was none.
    parse: (text) => parseEvidenceDocument('evidence/1', text).map((one) => ({ ...one, term: 1 })),
  },
  {
    of: 'the words of a member',
    valid: [JSON.stringify({ state: 'active', shardCount: 256 })],
    parse: (metadata) =>
      parseMember('chat', { ...held, name: 'chat/members/ann', metadata } as never),
  },
  {
    of: 'the words of a candidate',
    valid: [JSON.stringify({ host: 'a', list: [{ pid: 1 }] })],
    // What is in it is nobody's business but its reader's: any JSON may be.
    parse: (text) => typeof parseMetadata(text),
  },
];

const zooStat = {
  ...{
    createdZxid: 7,
    modifiedZxid: 9,
    createdAtMs: wroteAtMs,
    modifiedAtMs: wroteAtMs,
    version: 0,
  },
  ...{ ephemeralOwner: 0n, childrenVersion: 0, dataLength: 0, childCount: 0 },
};
const place: Place = { standing: 'waiting', preference: 50, since: 7, digest, tag: tagOf('ann') };

const once = {
  ...{ state: 'unknown', attempt: 2, startedBy: 'ann', startedAtMs: wroteAtMs },
  ...{ deadlineAtMs: wroteAtMs + 5_000, endedAtMs: wroteAtMs, expiresAtMs: wroteAtMs + 9_000 },
  ...{ result: '{}', detail: 'it threw' },
  settlements: [{ attempt: 1, outcome: 'repeated', by: 'ops', reason: 'drill', atMs: wroteAtMs }],
};
const onceHash: Readonly<Record<string, string>> = {
  ...{ version: '1', key: 'key', state: 'unknown', attempt: '2', owner: nonce, by: 'ann' },
  ...{ started: `${wroteAtMs}`, deadline: `${wroteAtMs + 5_000}`, ended: `${wroteAtMs}` },
  ...{ result: '{}', settlements: `1|done|${wroteAtMs}|["ops","drill"]` },
};
const run = {
  ...{ id: 'job!1', job: 'job', kind: 'tick', tickMs: wroteAtMs, state: 'waiting', term: 7 },
  ...{ holderId: 'ann', attempt: 1, failureCount: 0, interruptionCount: 0, beganAtMs: wroteAtMs },
  ...{ retryAtMs: wroteAtMs, progress: '{"next":1}', detail: 'it threw', by: 'ops' },
};
const jobRecord = {
  ...{ job: 'job', cron: '* * * * *', timeZone: 'UTC', election: 'schedule', term: 7 },
  ...{ holderDigest: digest, holderId: 'ann', consideredToMs: wroteAtMs, changedAtMs: wroteAtMs },
};
const asked = { id: 'job!2', job: 'job', atMs: wroteAtMs, by: 'ops', reason: 'drill' };

const streams = new StreamKeys('default', 'orders');

const laterCodecs: readonly Codec[] = [
  {
    of: 'the name of a candidate in ZooKeeper',
    valid: [`w50-7-${digest}-${tagOf('ann')}`],
    parse: parsePlace,
  },
  {
    of: 'a candidate in ZooKeeper',
    valid: [
      JSON.stringify({
        ...{ tenure: 1, holder, ttlMs: 60_000, session: nonce, sinceMs: wroteAtMs, metadata: '{}' },
      }),
    ],
    parse: (text) =>
      decodeCandidate(
        { path: '/a', place, rank: 0 },
        { data: Buffer.from(text), stat: zooStat as never },
      )?.entry,
  },
  {
    of: 'the root of a namespace in ZooKeeper',
    valid: [JSON.stringify({ tenure: 1, raised: 64_000, epoch: 3 })],
    parse: (text) => readRoot({ data: Buffer.from(text) }, '/tenure/default'),
  },
  {
    of: 'an idempotency key as JSON',
    attemptsAre: 'numbers',
    valid: [JSON.stringify({ ...once, owner: nonce })],
    parse: (text) => decodeKey(text, 'key'),
  },
  {
    of: 'an idempotency key that a database shows',
    attemptsAre: 'numbers',
    valid: [JSON.stringify({ ...once, key: 'key', remainingMs: 5 })],
    parse: (text) => parseShownOnce(parsed(text) as never, 'key'),
  },
  {
    of: 'an idempotency key in Redis',
    attemptsAre: 'numbers',
    valid: [JSON.stringify(onceHash)],
    parse: (text) => {
      const fields = Object.entries(Object(parsed(text))).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]);
      return parseOnceInRedis(fields.flat(), wroteAtMs, 'key');
    },
  },
  {
    of: 'a job',
    valid: [JSON.stringify(jobRecord)],
    parse: (text) => decodeJob(text, 'job', wroteAtMs),
  },
  {
    of: 'a run of a job',
    attemptsAre: 'numbers',
    valid: [JSON.stringify(run)],
    // A term of 0 is nobody's.
    parse: (text) =>
      [decodeRun(text, 'job'), decodeOpenRun(text, 'job', 'job!1')].map((one) => ({
        ...one,
        term: one.term === 0 ? 1 : one.term,
      })),
  },
  {
    of: 'a pause of a job',
    valid: [JSON.stringify({ by: 'ops', reason: 'drill', atMs: wroteAtMs })],
    parse: decodePause,
  },
  {
    of: 'a request of a run',
    valid: [JSON.stringify(asked)],
    parse: (text) => decodeRequest(text, 'job'),
  },
  {
    of: 'a cancellation of a run',
    valid: [JSON.stringify({ runId: 'job!1', by: 'ops', reason: 'drill' })],
    parse: decodeCancellation,
  },
  {
    of: 'a message in Redis',
    valid: ['7\0key\0id\0{}'],
    parse: (text) => parseStep(`=0\0\0${wroteAtMs}-0\0${text}`, streams.shard(0)),
  },
  {
    of: 'the number of the shards in Redis',
    valid: ['256'],
    parse: (text) => parseTopic(text, 256, streams.topic),
  },
];

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const held = { state: 'held', holder: { id: 'ann' }, term: 7 };

describe('a text that was damaged', () => {
  it.each([...codecs, ...laterCodecs])(
    'as $of is told by a typed error or as none of ours',
    ({ valid, parse, attemptsAre }) => {
      for (const [index, text] of valid.entries()) {
        expect(parse(text), text).not.toBeUndefined();
        for (const wrong of damaged(text, index + 1)) looksAt(parse, wrong, attemptsAre);
      }
    },
  );
});

/** What was read holds terms and times that are some, and nothing that a text cannot be made of. */
function looksAt(parse: Codec['parse'], text: string, attemptsAre: Codec['attemptsAre']): void {
  const shown = text.slice(0, 300);
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    expect(error, shown).toBeInstanceOf(TenureError);
    return;
  }
  const wrong = wrongIn(value);
  const isNumber = (one: string) => attemptsAre !== undefined && /\.attempt is no text$/.test(one);
  expect(
    wrong.filter((one) => !isNumber(one)),
    shown,
  ).toEqual([]);
}

const textKeys = new Set([
  ...['id', 'to', 'by', 'reason', 'name', 'attempt', 'session', 'holderId', 'leaseId', 'digest'],
  ...['metadata', 'queueKey', 'historyLease', 'endReason', 'text'],
]);

const named: Readonly<Record<string, (value: unknown) => boolean>> = {
  term: isTerm,
  standing: (value) => ['waiting', 'present', 'observing'].includes(String(value)),
  act: (value) => ['revoke', 'suspend', 'resume'].includes(String(value)),
  version: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
};

/** The paths of what is not as its name says. */
function wrongIn(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path} is ${value}`];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => {
    if (part === undefined) return [];
    const at = `${path}.${key}`;
    if (textKeys.has(key) && typeof part !== 'string') return [`${at} is no text`];
    if (/Ms$/.test(key) && typeof part !== 'number') return [`${at} is no number`];
    const rule = Object.hasOwn(named, key) ? named[key] : undefined;
    if (rule !== undefined && !rule(part)) return [`${at} is ${JSON.stringify(part)}`];
    return wrongIn(part, at);
  });
}

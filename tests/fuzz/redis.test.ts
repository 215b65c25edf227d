import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { encodeName } from '../../src/coordinators/index.js';
import { type RedisCoordinator, redisCoordinator } from '../../src/redis.js';
import { foreignTexts, wrongParts } from './damage.js';
import { fewOrAll, longestMs } from './rounds.js';
import { abuse, type Place, standings } from './scene.js';

let admin: Redis;
const open: RedisCoordinator[] = [];

beforeAll(() => {
  admin = new Redis(inject('redisUrl'));
});
afterAll(async () => {
  for (const one of open) await one.close();
  admin.disconnect();
});

describe('what stands in Redis under a name and was meddled with', () => {
  it.each(standings)(
    'is told by type, and the name is granted to nobody: %s',
    async (standing) => {
      const namespace = `fuzz/${process.pid}/${standing}`;
      const coordinator = redisCoordinator(inject('redisUrl'), { namespace });
      open.push(coordinator);
      const placesOf = async (name: string): Promise<Place[]> => {
        const pattern = `{tenure:${encodeName(namespace)}}:*:${encodeName(name)}`;
        const keys = (await admin.keys(pattern)).sort();
        const places = await Promise.all(keys.map(placesIn));
        return [...places.flat(), ...(await suspensionOf(namespace, name))];
      };
      const { wrong, count } = await abuse(coordinator, standing, placesOf);
      expect(wrong).toEqual([]);
      expect(count).toBeGreaterThan(20);
    },
    longestMs,
  );
});

/** Each text of the key in turn, and another type in place of it. */
async function placesIn(key: string, seed: number): Promise<Place[]> {
  const kind = key.split(':').at(-2);
  const place = (what: string, spoil: () => Promise<unknown>): Place => ({
    what: `${kind} ${what.slice(0, 300)}`,
    spoil,
  });
  const others = [
    place('a hash', () => replace(key, (other) => admin.hset(other, 'field', '{}'))),
    place('a list', () => replace(key, (other) => admin.rpush(other, '{}'))),
    place('a set', () => replace(key, (other) => admin.sadd(other, '{}'))),
    place('a text', () => replace(key, (other) => admin.set(other, '1'))),
  ];
  const write = await writerOf(key);
  if (write === undefined) return others;
  const texts = damages(write.valid, seed);
  return [...others, ...texts.map((text) => place(`= ${text}`, () => write.put(text)))];
}

interface Writer {
  readonly valid: string;
  readonly put: (text: string) => Promise<unknown>;
}

async function writerOf(key: string): Promise<Writer | undefined> {
  const type = await admin.type(key);
  if (type === 'string') {
    const valid = (await admin.get(key)) ?? '';
    return { valid, put: (text) => admin.set(key, text, 'KEEPTTL') };
  }
  if (type === 'list') {
    const valid = (await admin.lindex(key, 0)) ?? '';
    return { valid, put: (text) => admin.lset(key, 0, text) };
  }
  if (type !== 'hash') return undefined;
  const fields = Object.entries(await admin.hgetall(key)).sort();
  const [field, valid] = fields[0] ?? [];
  if (field === undefined || valid === undefined) return undefined;
  return { valid, put: (text) => admin.hset(key, field, text) };
}

async function suspensionOf(namespace: string, name: string): Promise<Place[]> {
  const key = `{tenure:${encodeName(namespace)}}:suspended`;
  const valid = await admin.hget(key, name);
  if (valid === null) return [];
  return damages(valid, 7).map((text) => ({
    what: `suspended = ${text.slice(0, 300)}`,
    spoil: () => admin.hset(key, name, text),
  }));
}

async function replace(key: string, write: (key: string) => Promise<unknown>): Promise<void> {
  await admin.del(key);
  await write(key);
}

/** Without what is another lease of another time: it may be over. */
function damages(valid: string, seed: number): string[] {
  const fields = wrongParts(valid).filter((text) => !/\|(?:0|-1)(?:\||$)/.test(text));
  return [
    ...fewOrAll(foreignTexts, 4, seed),
    valid.slice(0, -1),
    valid.slice(0, valid.length / 2),
    ...fewOrAll(fields, 7, seed),
  ];
}

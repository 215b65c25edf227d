import { Cluster, Redis } from 'ioredis';
import { Holder } from '../../src/coordinators/index.js';
import { acquireCall, endCall } from '../../src/coordinators/redis/arguments.js';
import { RedisKeys } from '../../src/coordinators/redis/keys.js';
import { acquireScript, endScript } from '../../src/coordinators/redis/scripts/index.js';
import { realRuntime } from '../../src/time/index.js';
import { type Reference, renewedNames, ttlMs } from './reference.js';

const noDeadline = String(Number.MAX_SAFE_INTEGER);
const extendAll = `
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('PEXPIRE', key, ARGV[2]) end
end
return #KEYS`;
const releaseOne = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

const hostsOf = (url: string) =>
  (/\/\/([^/]*)/.exec(url)?.[1] ?? '').split(',').map((place) => {
    const [host = '', port = ''] = place.split(':');
    return { host, port: Number(port) };
  });

function connect(url: string): Redis | Cluster {
  if (url.startsWith('redis+cluster:')) return new Cluster(hostsOf(url));
  if (!url.startsWith('redis+sentinel:')) return new Redis(url);
  return new Redis({ sentinels: hostsOf(url), name: url.split('/').at(-1) ?? '' });
}

/** One master at a time: the plain client sends tenure's own two scripts one by one. */
export async function redisReference(url: string): Promise<Reference> {
  const client = connect(url);
  // ioredis sends a script by its hash, and as a text where the server does not know it.
  const scripts = { rawTake: acquireScript, rawGive: endScript, rawExtend: { lua: extendAll } };
  for (const [name, { lua }] of Object.entries(scripts)) client.defineCommand(name, { lua });
  const run = (name: keyof typeof scripts, keys: readonly string[], args: readonly unknown[]) =>
    (client as unknown as Record<string, (...words: unknown[]) => Promise<unknown>>)[name]?.(
      keys.length,
      ...keys,
      ...args,
    );
  const keys = new RedisKeys('raw');
  const holder = Holder.create('raw', realRuntime);
  const token = realRuntime.randomHex(32);
  const held = renewedNames.map((name) => `{raw}:${name}`);
  for (const key of held) await client.set(key, token);
  return {
    async pair(name) {
      const attempt = realRuntime.randomHex(16);
      const take = acquireCall(keys, [{ name, holder, attempt, ttlMs }]);
      await run('rawTake', take.keys, [noDeadline, ...take.args]);
      const give = endCall(keys, [{ name, holder, attempt }]);
      await run('rawGive', give.keys, [noDeadline, ...give.args]);
    },
    pairIs: 'ioredis: the same two scripts, one by one, their arguments made on the way',
    async renew() {
      await run('rawExtend', held, [token, ttlMs]);
    },
    renewIs: 'ioredis: one script that gets, compares and extends 256 keys',
    async close() {
      client.disconnect();
    },
  };
}

/** As the usual recipe has it: SET NX at all, a majority of them decides; no term and no second step. */
export async function quorumReference(url: string): Promise<Reference> {
  const clients = hostsOf(url).map(({ host, port }) => new Redis(port, host));
  const token = realRuntime.randomHex(32);
  const majority = Math.floor(clients.length / 2) + 1;
  const held = renewedNames.map((name) => `{raw}:${name}`);
  for (const client of clients) for (const key of held) await client.set(key, token);
  const byMajority = (act: (client: Redis) => Promise<unknown>) =>
    new Promise<void>((resolve, reject) => {
      let count = 0;
      for (const client of clients)
        act(client).then(() => {
          count += 1;
          if (count === majority) resolve();
        }, reject);
    });
  return {
    async pair(name) {
      const key = `{raw}:${name}`;
      await byMajority((client) => client.set(key, token, 'PX', ttlMs, 'NX'));
      await byMajority((client) => client.eval(releaseOne, 1, key, token));
    },
    pairIs: `ioredis, ${clients.length} of them: SET NX and a conditional DEL at all, a majority of answers; no term and no confirmation`,
    async renew() {
      await byMajority((client) => client.eval(extendAll, held.length, ...held, token, ttlMs));
    },
    renewIs: 'ioredis: one script over 256 keys at all, a majority of answers',
    async close() {
      for (const client of clients) client.disconnect();
    },
  };
}

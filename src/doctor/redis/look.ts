import type { CoordinatorPromises } from '../../coordinators/index.js';
import { leaseKeysPattern } from '../../coordinators/redis/keys.js';
import type { RedisNode } from '../../drivers/redis/client.js';
import { replyCode, replyError } from '../../drivers/redis/errors.js';
import { Link } from '../../drivers/redis/link.js';
import { type Looked, seen, unseen } from '../check.js';
import type { Purpose } from '../finding.js';
import { sound } from '../soundings.js';
import type { Info, Replica, ServerFacts, Settings, WriteAnswer } from './facts.js';
import { questions, type Rights, readRights, rightsScript } from './rights.js';
import type { Shape } from './shape.js';

/** One server to look at, and how it is reached. */
export interface Place {
  readonly node: RedisNode;
  readonly host: string;
  readonly isTls: boolean;
  readonly isLocal: boolean;
  readonly hasPassword: boolean;
  /** Whom the server takes us for. */
  readonly user: string;
}

/** Opens a connection to a server as tenure's own is, but accepts any that answers. @throws {TenureError} */
export function openTo({ node }: Pick<Place, 'node'>, purpose: Purpose): Promise<Link> {
  return Link.open(node, purpose.runtime, purpose.timeoutMs, purpose.signal);
}

/** All that is asked of one server. Nothing of it writes. @throws {TenureError} if it does not answer. */
export async function lookAt(
  link: Link,
  place: Place,
  shape: Shape,
  promises: CoordinatorPromises,
  purpose: Purpose,
): Promise<ServerFacts> {
  const ask = asker(link, purpose);
  const info = await lookAtInfo(ask);
  // A server that loads its data, or keeps none, has no more to say.
  const [settings, rights, write] = await Promise.all([
    lookAtSettings(ask),
    lookAtRights(ask, shape, purpose.namespace),
    tryWriting(ask, purpose),
  ]);
  const soundings = await sound(purpose.runtime, () => timeBy(ask));
  const { address } = link;
  const { isTls, isLocal, hasPassword, host, user } = place;
  const tlsRemedy = `give the server tls-port and certificates (redis.conf), and write rediss for redis in the URL`;
  const way = { host, isTls, isLocal, hasPassword, tlsRemedy };
  return {
    ...{ promises, soundings, way, shape, address },
    ...{ hasPassword, isLocal, user, info, settings, rights, write },
  };
}

export type Ask = (command: string, ...args: string[]) => Promise<unknown>;

/** Asks with a limit for each question. Rejects with the server's own reply, or with an error of the link. */
export function asker(link: Link, { runtime, timeoutMs }: Purpose): Ask {
  return (command, ...args) =>
    link.call(
      command.toLowerCase(),
      args,
      [command, args[0]].join(' ').trim(),
      runtime.now().monotonicMs + timeoutMs,
    );
}

/** What the server does not let us ask is no failure. */
export async function lookWith<Fact>(
  asked: Promise<unknown>,
  what: string,
  right: string,
  read: (reply: unknown) => Fact,
): Promise<Looked<Fact>> {
  try {
    return seen(read(await asked));
  } catch (error) {
    const code = replyCode(error);
    if (code === 'NOPERM')
      return unseen(
        `the user may not send ${what}`,
        `grant it for this look: ACL SETUSER <user> +${right}`,
      );
    if (code === 'ERR')
      return unseen(
        `the server does not answer ${what} (renamed, or a managed service)`,
        "look it up where the service's settings are",
      );
    throw code === undefined ? error : replyError(error as Error, what, 'the server');
  }
}

function lookAtInfo(ask: Ask): Promise<Looked<Info>> {
  return lookWith(ask('INFO'), 'INFO', 'info', (reply) => parseInfo(String(reply)));
}

/** Reads the reply of INFO. */
export function parseInfo(text: string): Info {
  const fields = fieldsOf(text);
  const field = (name: string): string => fields.get(name) ?? '';
  const number = (name: string) => (fields.has(name) ? Number(fields.get(name)) : undefined);
  return {
    version: field('redis_version'),
    runId: field('run_id'),
    role: field('role'),
    mode: field('redis_mode'),
    isLoading: field('loading') === '1',
    usedBytes: number('used_memory'),
    maxmemoryBytes: number('maxmemory'),
    maxmemoryPolicy: field('maxmemory_policy'),
    appendOnlyFile: fields.has('aof_enabled') ? field('aof_enabled') === '1' : undefined,
    persistenceHealthy:
      field('aof_last_write_status') !== 'err' && field('rdb_last_bgsave_status') !== 'err',
    clients: number('connected_clients'),
    maxClients: number('maxclients'),
    replicas: [...fields].flatMap(([name, value]) =>
      /^slave\d+$/.test(name) ? [replica(value)] : [],
    ),
  };
}

/** Lines of `name:value`. */
export function fieldsOf(text: string): Map<string, string> {
  const lines = text.split('\r\n').filter((line) => line.indexOf(':') > 0);
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)] as const;
    }),
  );
}

/** `ip=127.0.0.1,port=6380,state=online,offset=14,lag=0` */
function replica(text: string): Replica {
  const parts = new Map(text.split(',').map((part) => part.split('=') as [string, string]));
  return {
    address: `${parts.get('ip')}:${parts.get('port')}`,
    isOnline: parts.get('state') === 'online',
    lagS: Number(parts.get('lag') ?? 0),
  };
}

async function lookAtSettings(ask: Ask): Promise<Looked<Settings>> {
  const names = ['appendfsync', 'save', 'min-replicas-to-write', 'min-replicas-max-lag'];
  const asked = Promise.all(names.map((name) => ask('CONFIG', 'GET', name)));
  return lookWith(asked, 'CONFIG GET', 'config|get', (replies) => {
    const values = (replies as [string, string][]).map(([, value]) => value ?? '');
    const [appendfsync = '', save = '', toWrite, maxLag] = values;
    return {
      appendfsync,
      save,
      minReplicasToWrite: Number(toWrite),
      minReplicasMaxLagS: Number(maxLag),
    };
  });
}

/**
 * Asks to replace a key that is not there, which changes nothing. A server that takes no writes refuses it as it would
 * refuse a grant: for want of replicas, memory, or a disk.
 */
async function tryWriting(ask: Ask, { runtime, namespace }: Purpose): Promise<WriteAnswer> {
  const key = leaseKeysPattern(namespace).replace(/\*$/, `doctor-${runtime.randomHex(16)}`);
  try {
    await ask('SET', key, '1', 'XX');
    return 'taken';
  } catch (error) {
    const code = replyCode(error);
    if (code === undefined) throw error;
    if (code === 'NOPERM') return 'denied';
    return { refusal: (error as Error).message.replace(/\.$/, '') };
  }
}

async function lookAtRights(ask: Ask, shape: Shape, namespace: string): Promise<Looked<Rights>> {
  const words = questions(shape, namespace).map((question) => JSON.stringify(question));
  try {
    const asked = ask('EVAL', rightsScript, '0', ...words);
    return await lookWith(deniedAside(asked), 'EVAL', 'eval', (reply) =>
      readRights(shape, namespace, reply as unknown[]),
    );
  } catch (error) {
    if (!(error instanceof DeniedError)) throw error;
    // Without scripts there is nothing to ask, and nothing that works.
    return seen({
      missing: ['eval'],
      isEnough: false,
      needless: [],
      reachesOtherKeys: false,
      missingOf: {},
    });
  }
}

class DeniedError extends Error {}

async function deniedAside(asked: Promise<unknown>): Promise<unknown> {
  try {
    return await asked;
  } catch (error) {
    throw replyCode(error) === 'NOPERM' ? new DeniedError() : error;
  }
}

/** The server's wall clock, unless it may not be asked or has none (a sentinel); a refusal is on the way for as long as an answer. */
async function timeBy(ask: Ask): Promise<number | undefined> {
  try {
    const [seconds, microseconds] = (await ask('TIME')) as [string, string];
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  } catch (error) {
    if (['NOPERM', 'ERR'].includes(replyCode(error) ?? '')) return undefined;
    throw error;
  }
}

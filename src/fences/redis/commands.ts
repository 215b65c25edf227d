/*
 * The commands that a batch can hold: those that write, that a script may call, and that say by their place which of their
 * arguments are keys. Blocking ones are left out, since they do not block in a script; so is what changes the database, the
 * server or all keys at once, the fence's own included.
 */

/** What must stand under a key, or nothing; `any`: the command does not mind. */
type KeyType = 'string' | 'hash' | 'list' | 'set' | 'zset' | 'stream' | 'any';

/**
 * Which arguments are keys: the first, the second, the first two, all, every other one, all but the first, none; or
 * `stored`: the first, and as many as the second says.
 */
type KeyPlaces = 'first' | 'second' | 'two' | 'all' | 'pairs' | 'rest' | 'none' | 'stored';

/** How the server answers. `text`: nothing, too. */
export interface Replies {
  readonly integer: number;
  readonly ok: 'OK';
  readonly text: string | null;
  readonly other: unknown;
}

type Shape = readonly [KeyType, KeyPlaces, keyof Replies];

export const writeCommands = {
  SET: ['any', 'first', 'text'],
  SETEX: ['any', 'first', 'ok'],
  PSETEX: ['any', 'first', 'ok'],
  SETNX: ['any', 'first', 'integer'],
  GETSET: ['string', 'first', 'text'],
  GETDEL: ['string', 'first', 'text'],
  GETEX: ['string', 'first', 'text'],
  APPEND: ['string', 'first', 'integer'],
  SETRANGE: ['string', 'first', 'integer'],
  SETBIT: ['string', 'first', 'integer'],
  BITFIELD: ['string', 'first', 'other'],
  BITOP: ['any', 'rest', 'integer'],
  INCR: ['string', 'first', 'integer'],
  DECR: ['string', 'first', 'integer'],
  INCRBY: ['string', 'first', 'integer'],
  DECRBY: ['string', 'first', 'integer'],
  INCRBYFLOAT: ['string', 'first', 'text'],
  MSET: ['any', 'pairs', 'ok'],
  MSETNX: ['any', 'pairs', 'integer'],
  PFADD: ['string', 'first', 'integer'],
  PFMERGE: ['string', 'all', 'ok'],
  HSET: ['hash', 'first', 'integer'],
  HMSET: ['hash', 'first', 'ok'],
  HSETNX: ['hash', 'first', 'integer'],
  HDEL: ['hash', 'first', 'integer'],
  HINCRBY: ['hash', 'first', 'integer'],
  HINCRBYFLOAT: ['hash', 'first', 'text'],
  LPUSH: ['list', 'first', 'integer'],
  RPUSH: ['list', 'first', 'integer'],
  LPUSHX: ['list', 'first', 'integer'],
  RPUSHX: ['list', 'first', 'integer'],
  LPOP: ['list', 'first', 'other'],
  RPOP: ['list', 'first', 'other'],
  LINSERT: ['list', 'first', 'integer'],
  LSET: ['list', 'first', 'ok'],
  LREM: ['list', 'first', 'integer'],
  LTRIM: ['list', 'first', 'ok'],
  LMOVE: ['list', 'two', 'text'],
  RPOPLPUSH: ['list', 'two', 'text'],
  SADD: ['set', 'first', 'integer'],
  SREM: ['set', 'first', 'integer'],
  SPOP: ['set', 'first', 'other'],
  SMOVE: ['set', 'two', 'integer'],
  SINTERSTORE: ['any', 'all', 'integer'],
  SUNIONSTORE: ['any', 'all', 'integer'],
  SDIFFSTORE: ['any', 'all', 'integer'],
  ZADD: ['zset', 'first', 'other'],
  ZREM: ['zset', 'first', 'integer'],
  ZINCRBY: ['zset', 'first', 'text'],
  ZPOPMIN: ['zset', 'first', 'other'],
  ZPOPMAX: ['zset', 'first', 'other'],
  ZREMRANGEBYRANK: ['zset', 'first', 'integer'],
  ZREMRANGEBYSCORE: ['zset', 'first', 'integer'],
  ZREMRANGEBYLEX: ['zset', 'first', 'integer'],
  ZRANGESTORE: ['any', 'two', 'integer'],
  ZUNIONSTORE: ['any', 'stored', 'integer'],
  ZINTERSTORE: ['any', 'stored', 'integer'],
  ZDIFFSTORE: ['any', 'stored', 'integer'],
  GEOADD: ['zset', 'first', 'integer'],
  GEOSEARCHSTORE: ['any', 'two', 'integer'],
  XADD: ['stream', 'first', 'text'],
  XDEL: ['stream', 'first', 'integer'],
  XTRIM: ['stream', 'first', 'integer'],
  XACK: ['stream', 'first', 'integer'],
  XCLAIM: ['stream', 'first', 'other'],
  XAUTOCLAIM: ['stream', 'first', 'other'],
  XSETID: ['stream', 'first', 'ok'],
  XGROUP: ['stream', 'second', 'other'],
  DEL: ['any', 'all', 'integer'],
  UNLINK: ['any', 'all', 'integer'],
  EXPIRE: ['any', 'first', 'integer'],
  PEXPIRE: ['any', 'first', 'integer'],
  EXPIREAT: ['any', 'first', 'integer'],
  PEXPIREAT: ['any', 'first', 'integer'],
  PERSIST: ['any', 'first', 'integer'],
  RENAME: ['any', 'two', 'ok'],
  RENAMENX: ['any', 'two', 'integer'],
  RESTORE: ['any', 'first', 'ok'],
  PUBLISH: ['any', 'none', 'integer'],
} as const satisfies Record<string, Shape>;

/** The name of a command that a batch can hold. */
export type RedisWriteName = keyof typeof writeCommands;

/** What the server answers to a command. */
export type RedisReply<Name extends RedisWriteName> = Replies[(typeof writeCommands)[Name][2]];

/** The keys among the arguments of a command. */
export function keysOf(name: RedisWriteName, args: readonly string[]): readonly string[] {
  const places: KeyPlaces = writeCommands[name][1];
  switch (places) {
    case 'first':
      return args.slice(0, 1);
    case 'second':
      return args.slice(1, 2);
    case 'two':
      return args.slice(0, 2);
    case 'all':
      return args;
    case 'pairs':
      return args.filter((_, index) => index % 2 === 0);
    case 'rest':
      return args.slice(1);
    case 'none':
      return [];
    case 'stored':
      return [...args.slice(0, 1), ...args.slice(2, 2 + Math.max(0, Number(args[1]) || 0))];
  }
}

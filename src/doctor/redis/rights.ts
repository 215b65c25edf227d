import { leaseKeysPattern } from '../../coordinators/redis/keys.js';
import {
  type Feature,
  featureQuestions,
  featuresOn,
  featureWords,
  type MissingWords,
  readFeatureRights,
} from './feature-rights.js';
import type { Shape } from './shape.js';

/** One command that tenure sends, with arguments for which the server is asked whether its user may send them. */
interface Right {
  /** As an ACL names it, without the `+`. */
  readonly command: string;
  /** Without it: nothing works (`critical`), or something is slower or unseen (`warning`). */
  readonly without: 'critical' | 'warning';
  /** What stands behind the command; `key` is one of the namespace's. */
  arguments(key: string): readonly string[];
}

const none = () => [];
const onKey =
  (...rest: readonly string[]) =>
  (key: string) => [key, ...rest];

const scripts: readonly Right[] = [
  { command: 'evalsha', without: 'critical', arguments: () => ['0'.repeat(40), '0'] },
  { command: 'eval', without: 'critical', arguments: () => ['return 1', '0'] },
  { command: 'time', without: 'critical', arguments: none },
  { command: 'info', without: 'warning', arguments: none },
  { command: 'ping', without: 'warning', arguments: none },
  { command: 'select', without: 'critical', arguments: () => ['0'] },
  { command: 'client|setname', without: 'warning', arguments: () => ['tenure'] },
  { command: 'subscribe', without: 'warning', arguments: onKey() },
  { command: 'unsubscribe', without: 'warning', arguments: onKey() },
  { command: 'publish', without: 'warning', arguments: onKey('') },
];

const inScripts: Readonly<Record<string, readonly string[]>> = {
  get: [],
  mget: [],
  set: ['1'],
  del: [],
  exists: [],
  pexpire: ['1000'],
  pttl: [],
  zadd: ['1', 'a'],
  zrem: ['a'],
  zrange: ['0', '1'],
  zrangebyscore: ['0', '1'],
  zrevrangebyscore: ['1', '0'],
  zrank: ['a'],
  zscore: ['a'],
  hget: ['a'],
  hmget: ['a'],
  hgetall: [],
  hkeys: [],
  hset: ['a', 'b'],
  hdel: ['a'],
  hrandfield: [],
  lindex: ['0'],
  lrange: ['0', '1'],
  lset: ['0', 'a'],
  ltrim: ['0', '1'],
  rpush: ['a'],
};

/** Those of `docs/protocol.md`, in its order. */
export const leaseRights: readonly Right[] = [
  ...scripts,
  ...Object.entries(inScripts).map(([command, rest]): Right => {
    return { command, without: 'critical', arguments: onKey(...rest) };
  }),
];

/** For giving a node its memory back. */
const quorumRights: readonly Right[] = [
  { command: 'scan', without: 'critical', arguments: () => ['0'] },
  { command: 'type', without: 'critical', arguments: onKey() },
];

const clusterRights: readonly Right[] = [
  { command: 'cluster|slots', without: 'critical', arguments: none },
];

export function rightsFor(shape: Shape): readonly Right[] {
  if (shape === 'quorum') return [...leaseRights, ...quorumRights];
  return shape === 'cluster' ? [...leaseRights, ...clusterRights] : leaseRights;
}

/** What nobody needs who only holds leases, and what it would let a thief, or a mistake, do. */
const needless: readonly (readonly [command: string, ...rest: string[]])[] = [
  ['flushall'],
  ['config|set', 'maxmemory', '1'],
  ['shutdown'],
  ['replicaof', 'no', 'one'],
  ['acl|setuser', 'x'],
  ['keys', '*'],
];

const foreignKey = 'somebody-else';

/** What the server is asked about its user, each as the words of a command. */
export function questions(shape: Shape, namespace: string): readonly (readonly string[])[] {
  const key = leaseKeysPattern(namespace).replace(/\*$/, 'term');
  const needed = rightsFor(shape).map((right) => [
    ...right.command.split('|'),
    ...right.arguments(key),
  ]);
  const broad = needless.map(([command, ...rest]) => [...command.split('|'), ...rest]);
  return [...needed, ...broad, ['set', foreignKey, '1'], ...featureQuestions(shape, namespace)];
}

export interface Rights {
  /** Commands, as an ACL names them, that tenure sends and the user may not. */
  readonly missing: readonly string[];
  /** Of those, whether any of them stops everything. */
  readonly isEnough: boolean;
  /** What the user may do and tenure never does. */
  readonly needless: readonly string[];
  /** It may also write keys that are not tenure's. */
  readonly reachesOtherKeys: boolean;
  /** Of what may be kept on such a server beside leases. */
  readonly missingOf: MissingWords;
}

/** @param answers one for each of {@link questions}: 1 if the user may. */
export function readRights(shape: Shape, namespace: string, answers: readonly unknown[]): Rights {
  const needed = rightsFor(shape);
  const may = (index: number) => Number(answers[index]) === 1;
  const missing = needed.filter((_, index) => !may(index));
  const others = needed.length + needless.length;
  const ofFeatures = answers.slice(others + 1).map((answer) => Number(answer) === 1);
  return {
    missing: missing.map(({ command }) => command),
    isEnough: missing.every(({ without }) => without !== 'critical'),
    needless: needless.filter((_, index) => may(needed.length + index)).map(([command]) => command),
    reachesOtherKeys: may(others),
    missingOf: readFeatureRights(shape, namespace, ofFeatures),
  };
}

/**
 * Asks the server, which does nothing of it: without writes, it would refuse to. The arguments are lists of words, one
 * for each question.
 */
export const rightsScript = `#!lua flags=no-writes
local answers = {}
for number, words in ipairs(ARGV) do
  local ok, may = pcall(redis.acl_check_cmd, unpack(cjson.decode(words)))
  answers[number] = (ok and may) and 1 or 0
end
return answers`;

const lineLength = 76;
const start = 'ACL SETUSER tenure';

/**
 * Makes a user with the rights that tenure needs for leases on this namespace, and no others: each line adds to those
 * before it.
 *
 * @param looks what the doctor looks at besides.
 */
export function leastRights(
  shape: Shape,
  namespace: string,
  looks: readonly string[] = [],
): string[] {
  const pattern = leaseKeysPattern(namespace);
  const commands = [...rightsFor(shape).map(({ command }) => command), ...looks];
  return [
    `${start} on >PASSWORD -@all resetkeys ~${pattern}`,
    `${start} resetchannels &${pattern}`,
    ...lines(commands.map((command) => `+${command}`)),
  ];
}

/** For each feature that such a server can keep, what makes the user of {@link leastRights} one of its too. */
export function furtherRights(
  shape: Shape,
  namespace: string,
): Partial<Record<Feature, readonly string[]>> {
  return Object.fromEntries(
    featuresOn(shape).map((feature) => [feature, lines(featureWords(feature, namespace))]),
  );
}

function lines(words: readonly string[]): string[] {
  const full: string[] = [];
  let line = start;
  for (const word of words) {
    if (line.length + word.length + 1 > lineLength) {
      full.push(line);
      line = start;
    }
    line += ` ${word}`;
  }
  return [...full, line];
}

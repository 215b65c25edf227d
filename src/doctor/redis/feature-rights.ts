import { encodeName, validateName } from '../../coordinators/index.js';
import { leaseKeysPattern } from '../../coordinators/redis/keys.js';
import { streamKeysPattern } from '../../streams/redis/keys.js';
import type { Shape } from './shape.js';

/** What is kept on Redis beside leases. */
export type Feature = 'jobs' | 'once' | 'fence' | 'streams';

/** What a feature needs of a user who has the rights of leases. */
interface FeatureRights {
  /** As a part of a sentence: what the user may do. */
  readonly spoken: string;
  /** Of the keys it uses. */
  pattern(namespace: string): string;
  /** Of the channels it uses, where these are not those of leases. */
  channels?(namespace: string): string;
  /** Commands that leases do not need, with arguments behind the key. */
  readonly commands: Readonly<Record<string, readonly string[]>>;
  readonly shapes: readonly Shape[];
}

const anywhere = ['single', 'sentinel', 'cluster'] as const;

/** A user's own keys, and the commands of batches, are not known here: see `docs/fencing/redis.md`. */
const rightsOf: Readonly<Record<Feature, FeatureRights>> = {
  jobs: {
    spoken: 'keep jobs',
    pattern: leaseKeysPattern,
    commands: {
      type: [],
      hincrby: ['a', '1'],
      hlen: [],
      hvals: [],
      sadd: ['a'],
      srem: ['a'],
      smembers: [],
      zcard: [],
      lrem: ['1', 'a'],
      unlink: [],
    },
    shapes: anywhere,
  },
  once: {
    spoken: 'keep the keys of once',
    pattern: (namespace) => `{tenure-once:${encoded(namespace)}}:*`,
    commands: { pexpireat: ['1'], persist: [] },
    shapes: anywhere,
  },
  fence: {
    spoken: 'keep the terms of the fence',
    pattern: (namespace) => `{tenure-fence:${encoded(namespace)}}:*`,
    commands: { type: [], setrange: ['0', ''] },
    shapes: anywhere,
  },
  streams: {
    spoken: 'keep ordered streams',
    pattern: streamKeysPattern,
    channels: streamKeysPattern,
    commands: {
      xadd: ['*', 'a', 'b'],
      xdel: ['0-1'],
      xlen: [],
      xrange: ['-', '+'],
      xrevrange: ['+', '-'],
      hlen: [],
    },
    shapes: ['single', 'sentinel'],
  },
};

const encoded = (namespace: string) => encodeName(validateName(namespace, 'namespace'));

/** In the order in which they are told. */
export const features = Object.keys(rightsOf) as Feature[];

export function spokenOf(feature: Feature): string {
  return rightsOf[feature].spoken;
}

export function featuresOn(shape: Shape): Feature[] {
  return features.filter((feature) => rightsOf[feature].shapes.includes(shape));
}

/** A word of an `ACL SETUSER`, and the command that only who has it may send. */
interface Word {
  readonly word: string;
  readonly question: readonly string[];
}

function wordsOf(feature: Feature, namespace: string): Word[] {
  const { pattern, channels, commands } = rightsOf[feature];
  const key = pattern(namespace).replace(/\*$/, feature);
  const channel = channels?.(namespace);
  return [
    { word: `~${pattern(namespace)}`, question: ['hset', key, 'a', 'b'] },
    ...(channel === undefined
      ? []
      : [{ word: `&${channel}`, question: ['publish', channel.replace(/\*$/, feature), ''] }]),
    ...Object.entries(commands).map(([command, rest]) => {
      return { word: `+${command}`, question: [command, key, ...rest] };
    }),
  ];
}

/** What the server is asked about these features, each as the words of a command. */
export function featureQuestions(shape: Shape, namespace: string): (readonly string[])[] {
  return featuresOn(shape).flatMap((feature) =>
    wordsOf(feature, namespace).map(({ question }) => question),
  );
}

/** Of each feature the words of an `ACL SETUSER` that the user lacks. */
export type MissingWords = Partial<Readonly<Record<Feature, readonly string[]>>>;

/** @param may for each of {@link featureQuestions}, whether the user may. */
export function readFeatureRights(
  shape: Shape,
  namespace: string,
  may: readonly boolean[],
): MissingWords {
  let at = 0;
  return Object.fromEntries(
    featuresOn(shape).map((feature) => {
      const missing = wordsOf(feature, namespace).filter(() => {
        at += 1;
        return may[at - 1] !== true;
      });
      return [feature, missing.map(({ word }) => word)];
    }),
  );
}

/** What makes the user of the leases one of this feature's too, as words of an `ACL SETUSER`. */
export function featureWords(feature: Feature, namespace: string): string[] {
  const words = wordsOf(feature, namespace).map(({ word }) => word);
  return words.filter((word) => word !== `~${leaseKeysPattern(namespace)}`);
}

import { createHash } from 'node:crypto';
import type { Standing } from '../candidates.js';
import { compareCandidates } from '../order.js';

/**
 * What decides where a candidate stands, and whose entry it is. All of it is in the name of its node: whoever lists the
 * nodes knows the queue, and reads the texts of those alone that matter.
 */
export interface Place {
  readonly standing: Standing;
  readonly preference: number;
  /**
   * The number of a transaction that was known before the node was made, and is no lower than any that was answered before
   * that: who begins later stands behind. These never fall, where the ten digits of a sequential node begin anew with
   * their parent, and overflow.
   */
  readonly since: number;
  /** Of its holder. */
  readonly digest: string;
  /** {@link tagOf} the holder's id. */
  readonly tag: string;
}

const letters: Readonly<Record<Standing, string>> = { waiting: 'w', present: 'p', observing: 'o' };
const standings = new Map(
  (Object.keys(letters) as Standing[]).map((standing) => [letters[standing], standing]),
);
const pattern = /^([wpo])(\d{1,2})-([0-9a-f]{1,14})-([0-9a-f]{32})-([0-9a-f]{16})$/;

export function placeText({ standing, preference, since, digest, tag }: Place): string {
  return `${letters[standing]}${preference}-${since.toString(16)}-${digest}-${tag}`;
}

export function parsePlace(text: string): Place | undefined {
  const [, letter, preference, since = '', digest = '', tag = ''] = pattern.exec(text) ?? [];
  const standing = standings.get(letter ?? '');
  if (standing === undefined) return undefined;
  return {
    standing,
    preference: Number(preference),
    since: Number.parseInt(since, 16),
    digest,
    tag,
  };
}

/** Tells namesakes from others without reading anything of them; whoever finds two alike reads the ids. */
export function tagOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16);
}

/** As {@link compareCandidates}; those that nothing else tells apart by their digests, since of ids only tags are known. */
export function comparePlaces(one: Place, other: Place): number {
  return compareCandidates({ ...one, id: '' }, { ...other, id: '' });
}

import type { Sample } from './sample.js';

const MiB = 1024 * 1024;

/** Something that must not grow, and how much a line through its second half may rise all the same. */
export interface Quantity {
  readonly name: string;
  readonly unit: 'MiB' | '';
  of(sample: Sample): number | undefined;
  /** Over the second half of a run, from its first to its last sample. `typical` is the median there. */
  allowedRise(typical: number): number;
}

const share = 0.03;

/**
 * What is allowed is what was seen of processes in which nothing grows, with some room: compiled code comes and goes, pools
 * open and close connections, what remembers the last thousands of names fills and begins anew, and a second with more messages
 * than the one before leaves more of them. In half an hour, a hundred bytes kept for each of the forty things that a second
 * brings are nearly twice what the heap is allowed.
 */
export const quantities: readonly Quantity[] = [
  {
    ...{ name: 'heap after collection', unit: 'MiB' },
    of: ({ usage }) => usage.heapBytes / MiB,
    allowedRise: (typical) => Math.max(4, share * typical),
  },
  {
    ...{ name: 'resident memory', unit: 'MiB' },
    of: ({ usage }) => usage.rssBytes / MiB,
    // V8 and the allocator keep what they had once, and take it in large steps: only what is outside of the heap is seen here.
    allowedRise: (typical) => Math.max(16, 0.1 * typical),
  },
  {
    ...{ name: 'active handles', unit: '' },
    of: ({ usage }) => usage.handleCount,
    allowedRise: () => 8,
  },
  { ...{ name: 'open files', unit: '' }, of: ({ usage }) => usage.fileCount, allowedRise: () => 6 },
  {
    ...{ name: 'store keys', unit: '' },
    of: ({ size }) => size?.keyCount,
    allowedRise: (typical) => Math.max(60, share * typical),
  },
  {
    ...{ name: 'store entries', unit: '' },
    of: ({ size }) => size?.entryCount,
    allowedRise: (typical) => Math.max(60, share * typical),
  },
];

/** How one quantity went. */
export interface Course {
  readonly quantity: Quantity;
  readonly first: number;
  readonly last: number;
  readonly typical: number;
  /** By the line of least squares through the second half. */
  readonly perHour: number;
  readonly rise: number;
  readonly allowedRise: number;
  readonly isFlat: boolean;
  /** Some of the values, from the first to the last. */
  readonly values: readonly number[];
}

const shownCount = 13;

/** Four points do not tell a line from chance. */
const fewestSamples = 8;

/** @throws if there are too few samples to tell. */
export function coursesOf(samples: readonly Sample[]): Course[] {
  if (samples.length < fewestSamples)
    throw new Error(`${samples.length} samples are too few to tell: at least ${fewestSamples}`);
  return quantities.flatMap((quantity) => {
    const points = samples.flatMap((sample) => {
      const value = quantity.of(sample);
      return value === undefined ? [] : [{ atMs: sample.atMs, value }];
    });
    return points.length === 0 ? [] : [courseOf(quantity, points)];
  });
}

interface Point {
  readonly atMs: number;
  readonly value: number;
}

function courseOf(quantity: Quantity, points: readonly Point[]): Course {
  const half = points.slice(Math.floor(points.length / 2));
  const [begin, end] = [half[0], half.at(-1)] as [Point, Point];
  const perMs = slopeOf(half);
  const rise = perMs * (end.atMs - begin.atMs);
  const typical = median(half.map(({ value }) => value));
  const allowedRise = quantity.allowedRise(typical);
  return {
    quantity,
    first: points[0]?.value ?? 0,
    last: end.value,
    typical,
    perHour: perMs * 3_600_000,
    rise,
    allowedRise,
    isFlat: rise <= allowedRise,
    values: Array.from({ length: shownCount }, (_, index) => {
      const place = Math.round((index * (points.length - 1)) / (shownCount - 1));
      return points[place]?.value ?? 0;
    }),
  };
}

/** Of the line of least squares. */
function slopeOf(points: readonly Point[]): number {
  const mean = (of: (point: Point) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const atMs = mean((point) => point.atMs);
  const value = mean((point) => point.value);
  const together = mean((point) => (point.atMs - atMs) * (point.value - value));
  return together / mean((point) => (point.atMs - atMs) ** 2);
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

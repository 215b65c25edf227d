/** What one script call may carry: a script blocks the server for everybody while it runs. */
export interface ChunkLimits {
  readonly count: number;
  readonly weight: number;
}

/** Messages of one `publish`, and bytes of their payloads. */
export const publishLimits: ChunkLimits = { count: 512, weight: 1024 * 1024 };
/** Shards of one `step`, and messages it reads or acknowledges. */
export const stepLimits: ChunkLimits = { count: 512, weight: 4_096 };
/**
 * Payload bytes one `step` gathers before it gives no second message to any shard. It reads a few messages at a time,
 * as many as would fill it if they were of the largest size, so an answer has at most twice as many bytes, and one
 * message for each further shard.
 */
export const stepBytes = 4 * 1024 * 1024;
/** Shards of one `install` or `backlog`. */
export const shardLimits: ChunkLimits = { count: 1_024, weight: Number.POSITIVE_INFINITY };
/** Messages that `seal` looks through. */
export const sealScanCount = 100;

/** How many messages a script may read at a time, so that what it reads at a time is bounded as well. */
export function readCount(largestPayloadBytes: number): number {
  return Math.max(1, Math.min(1_000, Math.floor(stepBytes / largestPayloadBytes)));
}

/** The items in their order, cut where the next one would exceed a limit; an item too large for any has one alone. */
export function chunksOf<Item>(
  items: readonly Item[],
  limits: ChunkLimits,
  weightOf: (item: Item) => number,
): Item[][] {
  const chunks: Item[][] = [];
  let chunk: Item[] = [];
  let weight = 0;
  for (const item of items) {
    const itemWeight = weightOf(item);
    const isFull = chunk.length >= limits.count || weight + itemWeight > limits.weight;
    if (chunk.length > 0 && isFull) {
      chunks.push(chunk);
      chunk = [];
      weight = 0;
    }
    chunk.push(item);
    weight += itemWeight;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

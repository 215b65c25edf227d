import type { RedisConnection, RedisScript } from '../../drivers/redis/index.js';
import { OutcomeUnknownError, StoreRefusedError, tooLateCode } from '../../errors/index.js';
import { corrupt } from './replies.js';

/** Keys and arguments of one script call. */
export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** One batch, cut into the pieces that one script call each may carry. */
export interface Batch<Item> {
  readonly script: RedisScript;
  readonly chunks: readonly (readonly Item[])[];
  describe(chunk: readonly Item[]): ScriptCall;
  /** The answer for items that came too late to be executed; without it that is an error. */
  readonly lateAnswer?: string;
}

/**
 * Runs a batch within one deadline and resolves with one answer per item.
 *
 * A chunk leaves only after the last one was answered, or messages could overtake those of a chunk that failed.
 *
 * @throws {OutcomeUnknownError} if a chunk failed after another one was executed. Otherwise what `run` throws.
 */
export async function runBatch<Item>(
  connection: RedisConnection,
  batch: Batch<Item>,
  timeoutMs: number,
): Promise<string[]> {
  const { script, chunks, lateAnswer } = batch;
  const remainingMs = connection.budget(timeoutMs);
  const answers: string[] = [];
  for (const [index, chunk] of chunks.entries()) {
    try {
      const { keys, args } = batch.describe(chunk);
      answers.push(...answersOf(await connection.run(script, keys, args, remainingMs()), keys));
    } catch (error) {
      if (lateAnswer !== undefined && isTooLate(error)) {
        // What follows would come later still.
        return [...answers, ...chunks.slice(index).flatMap((late) => late.map(() => lateAnswer))];
      }
      if (index === 0) throw error;
      throw new OutcomeUnknownError(
        `${script.name} was executed in part: ${index} of ${chunks.length} pieces, then one failed. Repeat all of it, which is harmless.`,
        error,
      );
    }
  }
  return answers;
}

/** A list has one answer per item; a single text refuses the call, naming the shard whose keys are not ours. */
function answersOf(reply: unknown, keys: readonly string[]): string[] {
  if (Array.isArray(reply)) return reply;
  const shard = Number(String(reply).slice(1));
  throw corrupt(`${keys[2 * shard - 2]}" or "${keys[2 * shard - 1]}`);
}

function isTooLate(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === tooLateCode;
}

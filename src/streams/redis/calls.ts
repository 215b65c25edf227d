import type { RedisConnection, RedisScript, ScriptCall } from '../../drivers/redis/index.js';
import { OutcomeUnknownError, StoreRefusedError, tooLateCode } from '../../errors/index.js';

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
      answers.push(...((await connection.run(script, keys, args, remainingMs())) as string[]));
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

function isTooLate(error: unknown): boolean {
  return error instanceof StoreRefusedError && error.storeCode === tooLateCode;
}

import { OutcomeUnknownError } from '../../errors/index.js';

/**
 * Answers many requests in steps of so many at once, each answer in its place.
 *
 * @throws {OutcomeUnknownError} if some were executed and some were not, for a batch that changes anything.
 */
export async function inSteps<Request, Answer>(
  requests: readonly Request[],
  size: number,
  step: (some: readonly Request[]) => Promise<Answer[]>,
  isReading = false,
): Promise<Answer[]> {
  if (requests.length <= size) return await step(requests);
  const parts: Promise<Answer[]>[] = [];
  for (let start = 0; start < requests.length; start += size)
    parts.push(step(requests.slice(start, start + size)));
  return (await settled(parts, () => !isReading)).flat();
}

/**
 * What each of some requests came to, once all have settled: nothing of a call that was answered is under way.
 *
 * @param hasChanged whether an answer means that something was executed.
 * @throws {OutcomeUnknownError} if some were executed and some failed, or if one is open; else the first failure.
 */
export async function settled<Value>(
  parts: readonly Promise<Value>[],
  hasChanged: (value: Value) => boolean,
): Promise<Value[]> {
  const all = await Promise.allSettled(parts);
  const reasons = all.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const values = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  if (reasons.length > 0) throw reasonOf(reasons, values.some(hasChanged));
  return values;
}

function reasonOf(reasons: readonly unknown[], isPartial: boolean): unknown {
  const unknown = reasons.find((reason) => reason instanceof OutcomeUnknownError);
  if (unknown !== undefined || !isPartial) return unknown ?? reasons[0];
  return inPart(reasons[0]);
}

/** Not executed would be a lie for what came before. */
export function inPart(reason: unknown): unknown {
  if (reason instanceof OutcomeUnknownError) return reason;
  return new OutcomeUnknownError('A batch was executed in part. Ask again for all of it.', reason);
}

import { OutcomeUnknownError } from '../../errors/index.js';

/**
 * Answers many requests in steps of so many at once, each answer in its place. All steps have settled before any failure is
 * reported: nothing of a call that was answered is under way.
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
  const settled = await Promise.allSettled(parts);
  const reasons = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (reasons.length > 0) {
    const isPartial = reasons.length < settled.length && !isReading;
    throw reasonOf(reasons, isPartial);
  }
  return settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
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

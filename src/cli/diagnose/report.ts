import { type Diagnosis, diagnose } from '../../diagnosis/index.js';
import { jsonText } from '../display/visible.js';
import { call, type Session } from '../session.js';
import { sayDiagnosis } from './say-diagnosis.js';

export interface Question {
  readonly name: string;
  readonly sinceMs: number | undefined;
  readonly lastMs?: number | undefined;
  readonly beforeMs: number | undefined;
}

/** Prints why the terms of an election end. */
export async function report(
  session: Session,
  { name, sinceMs, lastMs, beforeMs }: Question,
  format: 'text' | 'json',
): Promise<boolean> {
  const { coordinator, terminal, runtime, address, namespace } = session;
  const diagnosis: Diagnosis = await diagnose({
    coordinator,
    name,
    runtime,
    ...call,
    ...(sinceMs !== undefined && { sinceMs }),
    ...(lastMs !== undefined && { lastMs }),
    ...(beforeMs !== undefined && { beforeMs }),
  });
  if (format === 'json') {
    terminal.print(jsonText({ store: address, namespace, ...asJson(diagnosis) }, 2));
    return true;
  }
  for (const line of sayDiagnosis(diagnosis, terminal)) terminal.print(line);
  return true;
}

/** Fields are added, never changed. What is not known is `null`. */
function asJson(diagnosis: Diagnosis): object {
  const { leaderId, keptFromMs, comparison, timeline, evidenceProblem, ...rest } = diagnosis;
  return {
    ...rest,
    evidenceProblem: evidenceProblem ?? null,
    leaderId: leaderId ?? null,
    keptFromMs: keptFromMs ?? null,
    comparison: comparison ?? null,
    timeline: timeline.map((part) => ({
      ...part,
      roundTripMs: part.roundTripMs ?? null,
      waitedShare: part.waitedShare ?? null,
    })),
  };
}

import { type Diagnosis, diagnose } from '../../diagnosis/index.js';
import { jsonText } from '../display/visible.js';
import { noteNoHistory } from '../observe/place.js';
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
  if (sinceMs === undefined && lastMs === undefined && isUnknown(diagnosis)) {
    noteNoHistory(session, name);
    return true;
  }
  for (const line of sayDiagnosis(diagnosis, terminal)) terminal.print(line);
  return true;
}

/** Nothing is kept of it and nothing stands there: its name may be misspelt. */
function isUnknown({ record, period, refusals, findings }: Diagnosis): boolean {
  const isQuiet = period.termCount === 0 && refusals.length === 0 && findings.length === 0;
  return isQuiet && record === undefined;
}

/** Fields are added, never changed. What is not known is `null`. */
function asJson(diagnosis: Diagnosis): object {
  const { record, leaderId, keptFromMs, comparison, timeline, evidenceProblem, ...rest } =
    diagnosis;
  return {
    ...rest,
    evidenceProblem: evidenceProblem ?? null,
    leaderId: leaderId ?? null,
    state: record?.state ?? 'free',
    keptFromMs: keptFromMs ?? null,
    comparison: comparison ?? null,
    timeline: timeline.map((part) => ({
      ...part,
      roundTripMs: part.roundTripMs ?? null,
      waitedShare: part.waitedShare ?? null,
    })),
  };
}

import type { Finding } from '../../src/doctor/finding.js';
import { startInside } from '../cli/command-inside.js';
import type { Outcome } from '../cli/command-line.js';

/** What `tenure doctor` said of a store. */
export interface Diagnosis {
  readonly status: number | null;
  readonly outcome: Outcome;
  readonly findings: readonly Finding[];
  readonly leastRights: readonly string[];
  readonly furtherRights: Readonly<Record<string, readonly string[]>>;
  /** The finding of this id (and server); it has to be there. */
  find(id: string, at?: string): Finding;
  /** Ids of all that is of this severity, each once. */
  of(severity: Finding['severity']): string[];
}

/** Runs `tenure doctor` with these arguments, and reads what it says to programs. */
export async function doctor(...args: readonly string[]): Promise<Diagnosis> {
  const outcome = await startInside(['doctor', ...args, '-o', 'json']).ended;
  if (outcome.stdout === '') throw new Error(`the doctor says nothing: ${outcome.stderr}`);
  const { findings, leastRights, furtherRights } = JSON.parse(outcome.stdout) as Diagnosis;
  return {
    status: outcome.status,
    outcome,
    findings,
    leastRights,
    furtherRights,
    find(id, at) {
      const found = findings.find((one) => one.id === id && (at === undefined || one.at === at));
      if (found === undefined) throw new Error(`no finding ${id} in ${outcome.stdout}`);
      return found;
    },
    of: (severity) => [
      ...new Set(findings.flatMap((one) => (one.severity === severity ? [one.id] : []))),
    ],
  };
}

/** As {@link doctor}, for people: what it prints. */
export function doctorText(...args: readonly string[]): Promise<Outcome> {
  return startInside(['doctor', ...args]).ended;
}

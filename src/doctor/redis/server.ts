import type { CoordinatorPromises } from '../../coordinators/index.js';
import { judgeAll } from '../check.js';
import { checksEverywhere } from '../everywhere.js';
import type { Examination, Finding, Purpose } from '../finding.js';
import type { ServerFacts } from './facts.js';
import { serverChecks } from './judge.js';
import { lookAt, openTo, type Place } from './look.js';
import type { Shape } from './shape.js';

export type Inspected = Pick<Examination, 'promises' | 'findings'>;

export interface InspectedServer {
  readonly facts: ServerFacts;
  readonly findings: readonly Finding[];
}

/**
 * Looks at one server with data, and judges it.
 *
 * @param isOneOfMany its findings name it. @throws {TenureError} if it does not answer, or lets nobody in.
 */
export async function inspect(
  place: Place,
  shape: Shape,
  promises: CoordinatorPromises,
  purpose: Purpose,
  isOneOfMany = false,
): Promise<InspectedServer> {
  const link = await openTo(place, purpose);
  try {
    const facts = await lookAt(link, place, shape, promises, purpose);
    const at = isOneOfMany ? link.address : undefined;
    const findings = [
      ...judgeAll(checksEverywhere, facts, purpose, at),
      ...judgeAll(serverChecks, facts, purpose, at),
    ];
    return { facts, findings };
  } finally {
    link.end('it has answered');
  }
}

/** As a part of a sentence. */
export function messageOf(error: unknown): string {
  return (error as Error).message.replace(/\.$/, '');
}

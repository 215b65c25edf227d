import type { CoordinatorPromises } from '../coordinators/index.js';
import type { Runtime } from '../time/index.js';

/**
 * - `critical`: two processes may hold one name, a live lease may end early, or none can be had at all; or what is kept
 *   beside them is damaged.
 * - `warning`: what is promised holds now, and an ordinary event would break it.
 * - `note`: worth knowing; nothing has to be done.
 * - `ok`: looked at, and as it should be.
 */
export type Severity = 'critical' | 'warning' | 'note' | 'ok';

/** The worst first. */
export const severities: readonly Severity[] = ['critical', 'warning', 'note', 'ok'];

/** One thing that was looked at, and what came of it. */
export interface Finding {
  /** Stable: scripts may wait for it. */
  readonly id: string;
  readonly severity: Severity;
  /** Which server, where there are several. Holds no credentials. */
  readonly at?: string;
  /** What was seen, with the numbers, as a sentence without its full stop. */
  readonly seen: string;
  /** What can happen, unless it is `ok`. */
  readonly risk?: string;
  /** The command or the setting that ends it, unless it is `ok`. */
  readonly remedy?: string;
  /** A right was missing, so that nothing can be said: `seen` has why, and `remedy` what to grant. */
  readonly couldNotLook?: true;
}

/** What leases are to be kept under: a store that is good enough for a long ttl may not be for a short one. */
export interface Purpose {
  readonly ttlMs: number;
  /** The namespace of the leases: rights and slots depend on it. */
  readonly namespace: string;
  readonly runtime: Runtime;
  /** How long one question to the store may take. */
  readonly timeoutMs: number;
  /** Ends the examination. */
  readonly signal: AbortSignal;
}

/** All that was found on one store. */
export interface Examination {
  readonly promises: CoordinatorPromises;
  readonly findings: readonly Finding[];
  /** Commands that make a user with the rights that tenure needs, and no others; empty where there are none to give. */
  readonly leastRights: readonly string[];
  /** By what tenure keeps there beside leases (`jobs`, ...): commands that give the same user the rights for that, too. */
  readonly furtherRights?: Readonly<Record<string, readonly string[]>>;
}

export function worstOf(findings: readonly Finding[]): Severity {
  return severities.find((one) => findings.some(({ severity }) => severity === one)) ?? 'ok';
}

import { beliefChecker } from './belief.js';
import type { Checker } from './checker.js';
import { coverageChecker } from './coverage.js';
import { fenceChecker } from './fence.js';
import { hygieneChecker } from './hygiene.js';
import { lifeChecker } from './life.js';
import { livenessChecker } from './liveness.js';
import { ownershipChecker } from './ownership.js';
import { recordsChecker } from './records.js';
import { suspendedChecker } from './suspended.js';
import { termsChecker } from './terms.js';
import { unknownChecker } from './unknown.js';

/** Those that every run has. Each remembers what it saw, so a run makes its own. */
export const checkers: readonly (() => Checker)[] = [
  termsChecker,
  ownershipChecker,
  recordsChecker,
  beliefChecker,
  lifeChecker,
  fenceChecker,
  hygieneChecker,
  livenessChecker,
  unknownChecker,
  suspendedChecker,
  coverageChecker,
];

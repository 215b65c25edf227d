import type { ConformanceCase } from '../case.js';
import { batchCases } from './batches.js';
import { clockCases } from './clock.js';
import { closingCases } from './closing.js';
import { damageCases } from './damage.js';
import { declarationCases } from './declaration.js';
import { documentCases } from './documents.js';
import { expiryCases } from './expiry.js';
import { grantCases } from './grants.js';
import { handoffCases } from './handoffs.js';
import { hangCases } from './hangs.js';
import { inputCases } from './input.js';
import { latenessCases } from './lateness.js';
import { lostReplyCases } from './lost-replies.js';
import { readCases } from './reads.js';
import { releaseCases } from './releases.js';
import { renewalCases } from './renewals.js';
import { restartCases } from './restarts.js';
import { termCases } from './terms.js';
import { watchCases } from './watches.js';

/** Everything a coordinator has to do, and not to do, by theme. Each case is independent of the others. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...declarationCases,
  ...grantCases,
  ...termCases,
  ...renewalCases,
  ...releaseCases,
  ...handoffCases,
  ...expiryCases,
  ...readCases,
  ...documentCases,
  ...watchCases,
  ...batchCases,
  ...inputCases,
  ...hangCases,
  ...lostReplyCases,
  ...latenessCases,
  ...damageCases,
  ...restartCases,
  ...clockCases,
  ...closingCases,
];

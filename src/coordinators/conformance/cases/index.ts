import type { ConformanceCase } from '../case.js';
import { actHistoryCases } from './act-histories.js';
import { actInputCases } from './act-input.js';
import { batchCases } from './batches.js';
import { callCases } from './calls.js';
import { candidateCases } from './candidates.js';
import { clockCases } from './clock.js';
import { closingCases } from './closing.js';
import { damageCases } from './damage.js';
import { declarationCases } from './declaration.js';
import { documentCases } from './documents.js';
import { duplicateCases } from './duplicates.js';
import { enrollmentCases } from './enrollments.js';
import { expiryCases } from './expiry.js';
import { grantCases } from './grants.js';
import { handoffCases } from './handoffs.js';
import { hangCases } from './hangs.js';
import { historyCases } from './histories.js';
import { inputCases } from './input.js';
import { latenessCases } from './lateness.js';
import { lockDelayCases } from './lock-delays.js';
import { lostReplyCases } from './lost-replies.js';
import { readCases } from './reads.js';
import { recordFieldCases } from './record-fields.js';
import { releaseCases } from './releases.js';
import { renewalCases } from './renewals.js';
import { restartCases } from './restarts.js';
import { revocationCases } from './revocations.js';
import { suspendedNameCases } from './suspended-names.js';
import { suspensionCases } from './suspensions.js';
import { termCases } from './terms.js';
import { watchCases } from './watches.js';
import { withdrawalCases } from './withdrawals.js';

/** Everything a coordinator has to do, and not to do, by theme. Each case is independent of the others. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...declarationCases,
  ...grantCases,
  ...termCases,
  ...renewalCases,
  ...releaseCases,
  ...handoffCases,
  ...expiryCases,
  ...lockDelayCases,
  ...readCases,
  ...recordFieldCases,
  ...revocationCases,
  ...suspensionCases,
  ...suspendedNameCases,
  ...historyCases,
  ...actHistoryCases,
  ...documentCases,
  ...watchCases,
  ...candidateCases,
  ...enrollmentCases,
  ...withdrawalCases,
  ...callCases,
  ...batchCases,
  ...inputCases,
  ...actInputCases,
  ...hangCases,
  ...lostReplyCases,
  ...latenessCases,
  ...duplicateCases,
  ...damageCases,
  ...restartCases,
  ...clockCases,
  ...closingCases,
];

import type { StreamConformanceCase } from '../case.js';
import { backlogCases } from './backlog.js';
import { bellCases } from './bell.js';
import { faultCases } from './faults.js';
import { foreignCases } from './foreign.js';
import { inputCases } from './inputs.js';
import { logCases } from './log.js';
import { movingCases } from './moving.js';
import { ownershipCases } from './ownership.js';
import { publishCases } from './publish.js';
import { topicCases } from './topic.js';

/** Every requirement of the stream contract, in the order of its themes. */
export const streamConformanceCases: readonly StreamConformanceCase[] = [
  ...topicCases,
  ...publishCases,
  ...ownershipCases,
  ...logCases,
  ...backlogCases,
  ...bellCases,
  ...movingCases,
  ...inputCases,
  ...foreignCases,
  ...faultCases,
];

import { actFunctions } from './acts.js';
import { candidateFunctions } from './candidates.js';
import { leaseFunctions } from './leases.js';
import { readFunctions } from './reads.js';
import { sharedFunctions } from './shared.js';
import { tables } from './tables.js';

export { lateState } from './shared.js';

/** The version of what stands in a schema. It rises when tables or functions change. */
export const schemaVersion = 1;

/**
 * What brings a schema from the version before to each version, in one transaction. A step that was released once stays
 * as it is.
 */
export function migrationSteps(quotedSchema: string): readonly string[] {
  return [
    [
      tables(quotedSchema),
      sharedFunctions(quotedSchema),
      leaseFunctions(quotedSchema),
      candidateFunctions(quotedSchema),
      actFunctions(quotedSchema),
      readFunctions(quotedSchema),
    ].join('\n'),
  ];
}

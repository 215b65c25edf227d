import { finish } from './endings.js';
import { acquire } from './grants.js';
import { stands } from './ownership.js';
import { renew } from './renewals.js';
import { mend, sweep } from './upkeep.js';

/** What takes, extends and ends leases. */
export function leaseFunctions(schema: string): string {
  return [
    acquire(schema),
    mend(schema),
    sweep(schema),
    renew(schema),
    finish(schema),
    stands(schema),
  ].join('\n');
}

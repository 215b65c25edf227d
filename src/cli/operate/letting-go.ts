import type { HeldRecord } from '../../coordinators/index.js';
import { visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';

/** How a holder whose term an operator ends comes to know. */
export function holderLetsGo({ holder, term }: HeldRecord): string {
  return `${visible(holder.id)} is refused its next renewal, so term ${term} ends`;
}

/** By when a revoked term has ended, whatever its holder does. */
export function untilLetGo({ remainingMs, graceMs }: HeldRecord): string {
  const latest = `within ${sayDuration(remainingMs)}, sooner if the holder lets go`;
  if (graceMs === 0) return latest;
  return `${latest}; if it does not, a lock-delay of ${sayDuration(graceMs)} follows`;
}

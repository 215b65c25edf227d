import type { LeaseRecord } from '../../coordinators/index.js';
import { sayRecord, sayRemaining } from '../display/record.js';
import { visible } from '../display/visible.js';
import { call, type Session } from '../session.js';
import { notePlace } from './place.js';

/** Prints who holds the name. `false`: nobody does, and a note says why. */
export async function who(session: Session, name: string): Promise<boolean> {
  const { coordinator, terminal } = session;
  const [record] = await coordinator.read([name], call);
  if (record?.state !== 'held') {
    terminal.note(`tenure who: nobody holds ${visible(name)}: ${why(record)}`);
    if (record === undefined) notePlace(session);
    return false;
  }
  terminal.print(visible(record.holder.id));
  if (record.revocation !== undefined) terminal.note(`tenure who: ${sayRecord(record)}`);
  return true;
}

function why(record: LeaseRecord | undefined): string {
  const left = sayRemaining(record);
  switch (record?.state) {
    case 'reserved':
    case 'lock-delay':
      return `it is ${sayRecord(record)}; ${left} left`;
    case 'suspended': {
      const until = record.ending === undefined ? '' : ` for ${left}`;
      return `it is ${sayRecord(record)}${until}`;
    }
    default:
      return 'it is free';
  }
}

import { sayRecord, sayVacancy } from '../display/record.js';
import { visible } from '../display/visible.js';
import { call, type Session } from '../session.js';
import { notePlace } from './place.js';

/** Prints who holds the name. `false`: nobody does, and a note says why. */
export async function who(session: Session, name: string): Promise<boolean> {
  const { coordinator, terminal } = session;
  const [record] = await coordinator.read([name], call);
  if (record?.state !== 'held') {
    terminal.note(`tenure who: nobody holds ${visible(name)}: ${sayVacancy(record)}`);
    if (record === undefined) notePlace(session);
    return false;
  }
  terminal.print(visible(record.holder.id));
  if (record.revocation !== undefined) terminal.note(`tenure who: ${sayRecord(record)}`);
  return true;
}

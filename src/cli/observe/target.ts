import { onDamaged } from '../../coordinators/damaged.js';
import { groupOf } from '../../coordinators/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { Sighted } from '../display/record.js';
import { call, type Session } from '../session.js';

/** What stands under each name; `undefined` under one that is free. In order of the names. */
export type Sight = ReadonlyMap<string, Sighted | undefined>;

type Looker = Pick<Session, 'coordinator'>;

/**
 * Looks at all names of a group, or at one name. Nothing tells which of the two a text means, so both are looked at:
 * a name is shown if something stands there, or if there is no such group.
 */
export async function lookAt(session: Looker, target: string | undefined): Promise<Sight> {
  if (target === undefined) return await lookInto(session, '');
  const [found, group] = await Promise.all([lookUnder(session, target), lookInto(session, target)]);
  return found === undefined && group.size > 0 ? group : new Map([[target, found], ...group]);
}

/** All names of a group that are not free. What a list leaves out since it is damaged would read as free: it is here. */
export async function lookInto(session: Looker, group: string): Promise<Sight> {
  const { coordinator } = session;
  const damaged = new Set<string>();
  const stop = onDamaged(coordinator, (name) => {
    if (groupOf(name) === group) damaged.add(name);
  });
  const records: Sighted[] = await coordinator.list(group, call).finally(stop);
  const besides = await Promise.all([...damaged].map((name) => lookUnder(session, name)));
  const all = [...records, ...besides.filter((one) => one !== undefined)];
  all.sort((one, other) => (one.name < other.name ? -1 : 1));
  return new Map(all.map((one) => [one.name, one]));
}

async function lookUnder({ coordinator }: Looker, name: string): Promise<Sighted | undefined> {
  try {
    const [record] = await coordinator.read([name], call);
    return record;
  } catch (error) {
    if (!(error instanceof RecordCorruptError)) throw error;
    return { state: 'unreadable', name, error };
  }
}

/** The groups to watch, so that no change of the target is slept through. */
export function groupsOf(target: string | undefined): string[] {
  return target === undefined ? [''] : [groupOf(target), target];
}

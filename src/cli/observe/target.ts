import { groupOf, type LeaseRecord } from '../../coordinators/index.js';
import { call, type Session } from '../session.js';

/** What stands under each name; `undefined` under one that is free. In order of the names. */
export type Sight = ReadonlyMap<string, LeaseRecord | undefined>;

/**
 * Looks at all names of a group, or at one name. Nothing tells which of the two a text means, so both are looked at:
 * a name is shown if something stands there, or if there is no such group.
 */
export async function lookAt(
  { coordinator }: Pick<Session, 'coordinator'>,
  target: string | undefined,
): Promise<Sight> {
  if (target === undefined) return byName(await coordinator.list('', call));
  const [[record], group] = await Promise.all([
    coordinator.read([target], call),
    coordinator.list(target, call),
  ]);
  if (record === undefined && group.length > 0) return byName(group);
  return new Map([[target, record], ...byName(group)]);
}

/** The groups to watch, so that no change of the target is slept through. */
export function groupsOf(target: string | undefined): string[] {
  return target === undefined ? [''] : [groupOf(target), target];
}

function byName(records: readonly LeaseRecord[]): Map<string, LeaseRecord | undefined> {
  return new Map(records.map((record) => [record.name, record]));
}

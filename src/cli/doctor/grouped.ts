import type { Finding } from '../../doctor/finding.js';

/** Findings that say the same of several servers are one for people. */
export interface GroupedFinding extends Omit<Finding, 'at'> {
  readonly at: readonly string[];
}

/**
 * What is well on several servers is one line for each id, and what one missing right hides is one for all ids; anything
 * else is one for each thing that was seen. Keeps the order of the first of each.
 */
export function grouped(findings: readonly Finding[]): GroupedFinding[] {
  const groups = new Map<string, GroupedFinding>();
  for (const { at, ...finding } of findings) {
    const key = keyOf(finding, at);
    const known = groups.get(key);
    groups.set(key, joined(known, { ...finding, at: at === undefined ? [] : [at] }));
  }
  return [...groups.values()];
}

function keyOf(
  { id, severity, seen, remedy, couldNotLook }: Finding,
  at: string | undefined,
): string {
  if (couldNotLook) return JSON.stringify([seen, remedy]);
  const isOk = severity === 'ok' && at !== undefined;
  return JSON.stringify(isOk ? [id, severity] : [id, severity, seen, remedy]);
}

function joined(known: GroupedFinding | undefined, other: GroupedFinding): GroupedFinding {
  if (known === undefined) return other;
  const ids = known.id.split(', ').includes(other.id) ? known.id : `${known.id}, ${other.id}`;
  const at = [...known.at, ...other.at.filter((one) => !known.at.includes(one))];
  // Of several that are well, what they have in common is worth a line; where they differ, that there are some.
  return {
    ...known,
    id: ids,
    at,
    seen: known.seen === other.seen ? known.seen : 'as it should be',
  };
}

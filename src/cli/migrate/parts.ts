import { OptionError } from '../../errors/index.js';

/** What has tables of its own in a PostgreSQL database. */
export const parts = ['leases', 'jobs', 'fence', 'once'] as const;

export type MigratedPart = (typeof parts)[number];

/** Those that are named, if any are. @throws {OptionError} */
export function partsOf(text: string | undefined): readonly MigratedPart[] | undefined {
  if (text === undefined) return undefined;
  const named = text.split(',').map((part) => part.trim());
  const unknown = named.find((part) => !(parts as readonly string[]).includes(part));
  if (unknown === undefined) return parts.filter((part) => named.includes(part));
  const remedy = `use some of ${parts.join(', ')}, with commas in between`;
  throw new OptionError('--only', unknown, 'is no part of tenure with tables', remedy);
}

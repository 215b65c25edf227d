import { readFileSync } from 'node:fs';

const protocol = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');

const links = {
  jobs: '[jobs]',
  once: '[`once`]',
  fence: '[the fence]',
  streams: '[streams]',
} as const;

/** The command that docs/protocol.md names for one more feature of the user whom the rights of leases make. */
export function documentedRights(feature: keyof typeof links): string {
  const row = protocol.split('\n').find((line) => line.startsWith(`| ${links[feature]}`)) ?? '';
  return /`(ACL SETUSER [^`]*)`/.exec(row)?.[1] ?? '';
}

/** The commands that make a user with the rights of leases and of these features. */
export function documentedUser(
  password: string,
  features: readonly (keyof typeof links)[],
): string[][] {
  const ofLeases = /^ACL SETUSER .*$/m.exec(protocol)?.[0] ?? '';
  const lines = [ofLeases.replace('PASSWORD', password), ...features.map(documentedRights)];
  return lines.map((line) => line.split(' '));
}

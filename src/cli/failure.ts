import { OptionError, redactSecrets } from '../errors/index.js';
import { exitStatus, exitStatusOf, InterruptedError } from './exit-status.js';
import type { Terminal } from './terminal.js';

/** Says what failed, against what, and what to do next. Returns the exit status. Passwords are never shown. */
export function reportFailure(
  terminal: Terminal,
  command: string,
  error: unknown,
  targets: readonly string[],
): number {
  const status = exitStatusOf(error);
  if (error instanceof InterruptedError) {
    terminal.note(`tenure ${command}: ${error.message}, cleaned up`);
    return status;
  }
  terminal.note(`tenure ${command}: ${messageOf(error, status)}`);
  const addresses = targets.map(addressOf);
  if (addresses.length > 0) terminal.note(`  against: ${addresses.join(', ')}`);
  terminal.note(`  next:    ${nextCommand(command, error, status, addresses)}`);
  return status;
}

function messageOf(error: unknown, status: number): string {
  if (!(error instanceof Error)) return redactSecrets(String(error));
  // A bug of ours is only found by where it happened; everything else says enough by itself.
  const text = status === exitStatus.internal ? (error.stack ?? error.message) : error.message;
  return redactSecrets(text);
}

function nextCommand(
  command: string,
  error: unknown,
  status: number,
  addresses: readonly string[],
): string {
  if (error instanceof OptionError || status === exitStatus.usage)
    return `tenure ${command} --help`;
  if (status === exitStatus.internal) return 'report this with the lines above';
  const probes = addresses.map(probeOf).filter((probe) => probe !== undefined);
  if (probes.length === 0) return `tenure ${command}`;
  const again = status === exitStatus.misconfigured ? 'correct its settings, then' : 'then';
  return `${probes.join(' && ')}, ${again} tenure ${command} again`;
}

/** A command that everybody who runs such a server has at hand. */
function probeOf(address: string): string | undefined {
  if (address.startsWith('redis')) return `redis-cli -u ${address} ping`;
  if (address.startsWith('postgres')) return `psql ${address} -c 'select 1'`;
  return undefined;
}

/** Where the store is, without whom we are there: scheme, host, port and path of its URL. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return redactSecrets(url);
  const { protocol, host, pathname } = new URL(url);
  return host === '' ? protocol : `${protocol}//${host}${pathname === '/' ? '' : pathname}`;
}

import { RecordCorruptError, redactSecrets, StoreMisconfiguredError } from '../errors/index.js';
import { visibleLines } from './display/visible.js';
import {
  exitStatus,
  exitStatusOf,
  InterruptedError,
  installCommand,
  OptionNeededError,
} from './exit-status.js';
import { quoted, typedCommand } from './next-command.js';
import { probeOf, redisCli } from './probe.js';
import { repeatedUrl } from './repeated-url.js';
import { addressOf } from './store-url.js';
import type { Terminal } from './terminal.js';
import { hang } from './wrap.js';

const concernsNoStore: readonly number[] = [exitStatus.usage, exitStatus.outputLost];
const besideLabel = ' '.repeat('  against: '.length);

/** Says what failed, against what, and what to do next. Returns the exit status. Passwords are never shown. */
export function reportFailure(
  terminal: Terminal,
  command: string,
  error: unknown,
  targets: readonly string[],
): number {
  const status = exitStatusOf(error);
  if (error instanceof InterruptedError) {
    const { words, next } = error.aftermath;
    const what = `tenure ${command}: ${error.message}, ${words}`;
    terminal.note(hang(what, terminal.noteColumns, '  '));
    if (next !== undefined) terminal.note(`  next:    ${next}`);
    return status;
  }
  const what = `tenure${command === '' ? '' : ` ${command}`}: ${messageOf(error, status)}`;
  terminal.note(hang(what, terminal.noteColumns, '  '));
  const addresses = targets.map(addressOf).filter((address) => address !== 'memory:');
  if (!concernsNoStore.includes(status) && addresses.length > 0)
    terminal.note(`  against: ${addresses.join(`,\n${besideLabel}`)}`);
  const urls = targets.map(repeatedUrl).filter((url) => url !== 'memory:');
  terminal.note(
    `  next:    ${installCommand(error) ?? addedTo(error) ?? migration(error, urls) ?? removal(error, urls) ?? nextCommand(command, status, urls)}`,
  );
  return status;
}

function messageOf(error: unknown, status: number): string {
  if (!(error instanceof Error)) return visibleLines(redactSecrets(String(error)));
  // A bug of ours is only found by where it happened; everything else says enough by itself.
  const text = status === exitStatus.internal ? (error.stack ?? error.message) : error.message;
  return visibleLines(redactSecrets(text.replace(forPrograms, '')));
}

/** A remedy that needs code. */
const forPrograms = /, or pass a pool of your own(?=\.?$)/;

/** The same command with the option that it needs here. */
function addedTo(error: unknown): string | undefined {
  if (!(error instanceof OptionNeededError)) return undefined;
  return typedCommand(process.argv.slice(2), error.option);
}

/** Of a schema that is not there, or too old. */
function migration(error: unknown, urls: readonly string[]): string | undefined {
  if (!(error instanceof StoreMisconfiguredError)) return undefined;
  if (!/[`"]tenure migrate/.test(error.message)) return undefined;
  const url = urls.find((one) => one.startsWith('postgres'));
  return url && `tenure migrate --url ${quoted(url)}`;
}

function nextCommand(command: string, status: number, urls: readonly string[]): string {
  switch (status) {
    case exitStatus.usage:
      return `tenure ${command} --help`;
    case exitStatus.outputLost:
      return 'make room, or send the output elsewhere';
    case exitStatus.misconfigured:
      return 'correct the settings, then the same command again';
    case exitStatus.unavailable:
      return urls.map(probeOf).join(` &&\n${besideLabel}`) || 'the same command again';
    case exitStatus.lost:
      return 'end the processes that the lines above name';
    default:
      return 'report this with the lines above';
  }
}

const besides = `\n${besideLabel}`;

/** How to look at what is not ours, and to remove it: which of the two it is to be, only a person knows. */
function removal(error: unknown, urls: readonly string[]): string | undefined {
  if (!(error instanceof RecordCorruptError)) return undefined;
  const { message } = error;
  const redis = urls.find((url) => url.startsWith('redis'));
  const [, key, , field] = /\(the key "(\{tenure:[^"]+)"(, field "(.*?)")?\)/s.exec(message) ?? [];
  if (redis !== undefined && key !== undefined) {
    const words = field === undefined ? quoted(key) : `${quoted(key)} ${quoted(field)}`;
    const [look, remove] = field === undefined ? ['TYPE', 'DEL'] : ['HGET', 'HDEL'];
    const cli = redisCli(redis);
    return `${cli} ${look} ${words}${besides}and if nobody needs it:${besides}${cli} ${remove} ${words}`;
  }
  const file = urls.find((url) => url.startsWith('sqlite:'))?.slice('sqlite:'.length);
  const [, name, namespace] = /under "(.*)" \(in the namespace "([^"]*)"\)/s.exec(message) ?? [];
  // A name alone may be that of other leases, too.
  if (file === undefined || name === undefined || namespace === undefined)
    return 'see to what stands there, as said above, then the same command again';
  const where = `FROM lease WHERE namespace = ${sqlText(namespace)} AND name = ${sqlText(name)}`;
  const [look, remove] = [`SELECT * ${where}`, `DELETE ${where}`].map(quoted);
  const cli = `sqlite3 ${quoted(file)}`;
  return `${cli} ${look}${besides}and if nobody needs it:${besides}${cli} ${remove}`;
}

function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

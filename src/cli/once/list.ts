import type { OnceRecord } from '../../once/index.js';
import { sayInstant } from '../display/instant.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { call } from '../session.js';
import { keyAsJson } from './record-text.js';
import type { OnceSession } from './session.js';

/** Prints the effects of unknown outcome, the earliest deadline first. */
export async function list(
  session: OnceSession,
  limit: number,
  format: 'text' | 'json',
): Promise<boolean> {
  const { store, terminal, address, namespace } = session;
  const unknown = await store.unknown({ limit }, call);
  const last = unknown.length === limit ? unknown.at(-1) : undefined;
  const rest = last === undefined ? [] : await store.unknown({ limit: 1, after: last }, call);
  const more = rest.length > 0;
  if (format === 'json') {
    const effects = unknown.map(keyAsJson);
    terminal.print(jsonText({ store: address, namespace, effects, more }, 2));
    return true;
  }
  if (unknown.length === 0) {
    terminal.note(`no effect of unknown outcome in namespace ${visible(namespace)}`);
    terminal.note(`  at: ${visible(address)}`);
    return true;
  }
  printTable(
    terminal,
    ['KEY', 'UNKNOWN SINCE', 'ATTEMPT', 'BEGUN', 'BY', 'WHY'],
    unknown.map(asRow),
  );
  if (more) terminal.note(`only the first ${limit}; there are more: settle these, or use --limit`);
  terminal.note('  look where each would show; then, if it took place, and if it did not:');
  const words = ['once', 'settle', 'KEY'];
  terminal.note(`    ${session.write(words, '--done RESULT --reason TEXT')}`);
  terminal.note(`    ${session.write(words, '--not-applied --reason TEXT')}`);
  return true;
}

function asRow(record: OnceRecord): string[] {
  const { key, endedAtMs, deadlineAtMs, attempt, startedAtMs, startedBy, detail } = record;
  return [
    visible(key),
    sayInstant(endedAtMs ?? deadlineAtMs),
    String(attempt),
    sayInstant(startedAtMs),
    visible(startedBy),
    visible(detail ?? ''),
  ];
}

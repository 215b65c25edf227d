import { redactSecrets } from '../../errors/index.js';
import { onAbort } from '../../events/index.js';
import { sayInstant } from '../display/instant.js';
import { recordAsJson, sayRecord, sayRemaining } from '../display/record.js';
import { jsonText, visible } from '../display/visible.js';
import { exitStatusOf, InterruptedError } from '../exit-status.js';
import type { Session } from '../session.js';
import { type Change, watchChanges } from './lookout.js';

export type WatchFormat = 'text' | 'jsonl';

/**
 * Prints a line for all that stands there, then one per change, until somebody stops it or nobody reads it. Answers with the exit status of
 * that, and says nothing about it: it is how this ends.
 */
export async function watch(
  session: Session,
  target: string | undefined,
  format: WatchFormat,
): Promise<number> {
  const { terminal, runtime } = session;
  const line = format === 'jsonl' ? changeAsJson : sayChange;
  const over = new AbortController();
  const ends = [
    onAbort(session.signal, () => over.abort(session.signal.reason)),
    terminal.onReaderGone(() => over.abort(new InterruptedError('SIGPIPE'))),
  ];
  if (session.signal.aborted) over.abort(session.signal.reason);
  try {
    await watchChanges({ ...session, signal: over.signal }, target, (change) => {
      if (change.kind === 'nothing') noteNothing(session, target);
      else terminal.print(line(change, runtime.now().wallMs));
      if (change.kind === 'record' && change.record?.state === 'unreadable')
        noteUnreadable(session, change.name);
    });
  } finally {
    for (const end of ends) end();
  }
  return exitStatusOf(over.signal.reason);
}

/** Beside the lines, which tell of names only. */
function noteNothing({ terminal, address, namespace }: Session, target: string | undefined): void {
  const what = target === undefined ? 'the root group' : visible(target);
  terminal.note(`tenure watch: nothing stands in ${what} of namespace ${visible(namespace)} yet`);
  terminal.note(`  at:   ${visible(address)}`);
}

/** What stands there, and how to remove it, `status` says. */
function noteUnreadable({ terminal, write }: Session, name: string): void {
  terminal.note(`tenure watch: ${visible(name)} is unreadable`);
  terminal.note(`  next: ${write(['status', name])}`);
}

type Line = Exclude<Change, { readonly kind: 'nothing' }>;

function sayChange(change: Line, nowMs: number): string {
  const at = sayInstant(nowMs);
  switch (change.kind) {
    case 'unsure':
      return `${at}  unsure: ${visible(redactSecrets(change.why))}`;
    case 'sure':
      return `${at}  the store answers again`;
    case 'record': {
      const left = sayRemaining(change.record);
      const until = left === '' ? '' : `, ${left} left`;
      return `${at}  ${visible(change.name)}  ${sayRecord(change.record)}${until}`;
    }
  }
}

/** `seenAtMs` is Unix time by this machine's clock; what stands in a record is by the store's. */
function changeAsJson(change: Line, nowMs: number): string {
  const seenAtMs = Math.round(nowMs);
  switch (change.kind) {
    case 'unsure':
      return jsonText({ seenAtMs, state: 'unsure', why: redactSecrets(change.why) });
    case 'sure':
      return jsonText({ seenAtMs, state: 'sure' });
    case 'record':
      return jsonText({ seenAtMs, ...recordAsJson(change.name, change.record) });
  }
}

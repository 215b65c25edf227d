import type { OnceRecord } from '../../once/index.js';
import { elapsedMs } from '../../time/index.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { exitStatus } from '../exit-status.js';
import { agree } from '../operate/consent.js';
import { call } from '../session.js';
import { wrap } from '../wrap.js';
import type { Outcome } from './outcome.js';
import { keyAsJson, sayKey } from './record-text.js';
import { insist, type OnceSession } from './session.js';

/** What an operator decides about a key. */
export interface SettleOrder {
  readonly key: string;
  readonly outcome: Outcome;
  readonly by: string;
  readonly reason: string;
  /** For each of the look and the act. */
  readonly timeoutMs: number;
  /** Agreed beforehand. */
  readonly yes: boolean;
  readonly format: 'text' | 'json';
}

/** Shows the plan, asks, and settles the very attempt that was shown. Answers with the exit status. */
export async function settle(session: OnceSession, order: SettleOrder): Promise<number> {
  const { store, terminal, runtime } = session;
  const { key, outcome: end, by, reason, timeoutMs } = order;
  session.pending.announce(`the settlement of ${visible(key)}`, session.write(['once', 'list']));
  const from = runtime.now();
  const before = await insist(session, { from, timeoutMs }, () => store.read(key, call));
  const conclude = (verdict: Verdict, after: OnceRecord | undefined) => {
    const tookMs = elapsedMs(from, runtime.now());
    return report(session, order, { verdict, before, after, tookMs });
  };
  if (before?.state !== 'unknown') {
    const status = conclude(nothingToSettle(key, before, end), before);
    if (before === undefined) terminal.note(`  next: ${session.write(['once', 'list'])}`);
    return status;
  }
  showPlan(session, order, before);
  if (!(await agree(session, order.yes))) {
    terminal.note('nothing was done');
    return exitStatus.refused;
  }
  // Made once, so that what is asked again is the same settlement. To think takes time, which is not the store's.
  const request = { key, nonce: runtime.randomHex(16), of: before, end, by, reason };
  const acting = { from: runtime.now(), timeoutMs };
  const answer = await insist(session, acting, () =>
    session.pending.ask(() => store.settle(request, call)),
  );
  const { outcome, record: after } = answer;
  if (outcome === 'settled') return conclude({ holds: true, say: sayDone(order, before) }, after);
  if (wasFreed(order, before, after)) {
    const say = `${visible(key)} was free, and is begun again: ${sayKey(after)}`;
    return conclude({ holds: true, say }, after);
  }
  const stands = `meanwhile it is something else, so nothing was done: ${sayKey(after)}`;
  terminal.note(`${visible(key)}: ${stands}`);
  return exitStatus.refused;
}

/** Whether an answer that was lost had freed it, and it has been begun again since; one that is done stays so. */
function wasFreed(
  { outcome, by, reason }: SettleOrder,
  { attempt }: OnceRecord,
  now: OnceRecord | undefined,
): boolean {
  if (outcome.kind !== 'not-applied' || now?.state === 'free') return false;
  return (now?.settlements ?? []).some(
    (one) =>
      one.attempt === attempt &&
      one.outcome === 'not-applied' &&
      one.by === by &&
      one.reason === reason,
  );
}

function sayDone({ key, outcome }: SettleOrder, { attempt }: OnceRecord): string {
  return outcome.kind === 'done'
    ? `${visible(key)} is done: nothing is called for it any more`
    : `${visible(key)} is free: the next call for it begins attempt ${attempt + 1}`;
}

/** What came of it: `holds` says whether it is what was wanted. */
interface Verdict {
  readonly holds: boolean;
  readonly say: string;
}

/** Only what is unknown is settled; the same order once more finds what it wanted. */
function nothingToSettle(key: string, record: OnceRecord | undefined, wanted: Outcome): Verdict {
  const stands = `${visible(key)}: ${sayKey(record)}`;
  switch (record?.state) {
    case undefined: {
      const why = 'nobody has begun it in this namespace of this store, or it was forgotten';
      return { holds: false, say: `${stands}; ${why}` };
    }
    case 'done':
      return sayResult(stands, record, wanted);
    case 'free': {
      const next = `the next call for it begins attempt ${record.attempt + 1}`;
      return { holds: wanted.kind === 'not-applied', say: `${stands}; ${next}` };
    }
    default:
      return { holds: false, say: `${stands}; it can be settled if that passes without an end` };
  }
}

function sayResult(stands: string, record: OnceRecord, wanted: Outcome): Verdict {
  if (wanted.kind !== 'done') return { holds: false, say: `${stands}; that is final` };
  if (record.detail !== undefined)
    return { holds: false, say: `${stands}, and its result was not kept; that is final` };
  if (record.result !== wanted.result)
    return { holds: false, say: `${stands}, with another result; that is final` };
  return { holds: true, say: `${stands}, with this result` };
}

const indent = ' '.repeat('  risk:  '.length);

function showPlan(session: OnceSession, order: SettleOrder, before: OnceRecord): void {
  const { terminal, address, namespace } = session;
  const line = (label: string, text: string) => {
    const lines = wrap(text, terminal.noteColumns - indent.length);
    terminal.note(`  ${label.padEnd(indent.length - 2)}${lines.join(`\n${indent}`)}`);
  };
  terminal.note(`settle ${visible(order.key)}`);
  line('at:', `${visible(address)}, namespace ${visible(namespace)}`);
  line('now:', sayKey(before));
  for (const [index, text] of consequences(order.outcome, before).entries())
    line(index === 0 ? 'then:' : '', text);
  line('risk:', risk(order.outcome, before));
  line('why:', `${visible(order.reason)}, by ${visible(order.by)}`);
}

function consequences(outcome: Outcome, { attempt }: OnceRecord): string[] {
  if (outcome.kind === 'not-applied')
    return [`it is free: the next call for it begins attempt ${attempt + 1}, and calls the effect`];
  const given =
    outcome.result === undefined ? 'undefined, since it has no result' : shortened(outcome.result);
  return [
    `it is done: whoever calls for it is given ${given}; nothing is called`,
    `after ${sayDuration(outcome.keepMs)} that is forgotten, and the next call has the effect again`,
  ];
}

function risk(outcome: Outcome, { attempt }: OnceRecord): string {
  return outcome.kind === 'done'
    ? 'if the effect did not take place, it never will; it cannot be settled otherwise afterwards'
    : `if the effect did take place, or attempt ${attempt} is not dead but slow, it takes place twice`;
}

const longestShown = 200;

function shortened(result: string): string {
  if (result.length <= longestShown) return visible(result);
  return `${visible(result.slice(0, longestShown))}... (${Buffer.byteLength(result)} bytes)`;
}

interface Conclusion {
  readonly verdict: Verdict;
  readonly before: OnceRecord | undefined;
  readonly after: OnceRecord | undefined;
  readonly tookMs: number;
}

function report(
  { terminal, address, namespace }: OnceSession,
  { key, format }: SettleOrder,
  { verdict, before, after, tookMs }: Conclusion,
): number {
  if (format === 'json') {
    const place = { store: address, namespace, act: 'settle', key };
    const found = { before: keyAsJson(before), after: keyAsJson(after), holds: verdict.holds };
    terminal.print(jsonText({ ...place, ...found, tookMs: Math.round(tookMs) }, 2));
  } else terminal.print(verdict.say);
  return verdict.holds ? exitStatus.success : exitStatus.failedVerdict;
}

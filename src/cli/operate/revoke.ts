import type { Act, HeldRecord, LeaseRecord, RevokeRequest } from '../../coordinators/index.js';
import { sayAct, sayRecord } from '../display/record.js';
import { visible } from '../display/visible.js';
import { isWaiting, type OperatorAct, type Plan, type Situation, type Verdict } from './act.js';
import { holderLetsGo, untilLetGo } from './letting-go.js';

/** Ends the present term; who comes next is left to the candidates. */
export function revokeAct(name: string, act: Act): OperatorAct {
  return {
    verb: 'revoke',
    name,
    ...act,
    needsConsent: true,
    plan,
    perform: (coordinator, before, call) =>
      coordinator.revoke(name, { ...act, ...termOf(before) }, call),
    isDone: (before, record) => isRevoked(before, record, act),
    judge: (before, record) => judge(name, before, record),
    judgeLate: (before, record) => judgeLate(name, before, record),
  };
}

function plan({ record, candidates }: Situation): Plan {
  if (record?.state !== 'held')
    return { kind: 'nothing', because: `nobody holds it: ${sayRecord(record)}`, holds: false };
  const { revocation } = record;
  if (revocation !== undefined && revocation.to === undefined)
    return { kind: 'wait', because: `it was revoked before, ${sayAct(revocation)}` };
  const first = candidates.find(isWaiting);
  const next =
    first === undefined
      ? 'whoever asks for it first holds it next, also the same holder; nobody waits for it now'
      : `${visible(first.id)} is called first of those who wait for it`;
  const consequences = [holderLetsGo(record), next];
  if (revocation?.to !== undefined)
    consequences.push(`it is not kept for ${visible(revocation.to)} any more`);
  return { kind: 'act', consequences, when: untilLetGo(record) };
}

/** The term that was to be ended is not there any more, or this very act is in force. */
export function isRevoked(
  before: Situation,
  record: LeaseRecord | undefined,
  act: RevokeRequest,
): boolean {
  const lasting = sameTerm(before, record);
  if (lasting === undefined) return true;
  const { revocation } = lasting;
  return revocation?.by === act.by && revocation.reason === act.reason && revocation.to === act.to;
}

function judge(
  name: string,
  before: Situation,
  record: LeaseRecord | undefined,
): Verdict | undefined {
  if (sameTerm(before, record) !== undefined) return undefined;
  // Who waited has been called, and will be here soon.
  if (record === undefined && before.candidates.some(isWaiting)) return undefined;
  return { holds: true, say: `${letGo(name, before)}; now it is ${sayRecord(record)}` };
}

/** The term has ended, which is what was wanted; that nobody has come yet is for others to see to. */
function judgeLate(
  name: string,
  before: Situation,
  record: LeaseRecord | undefined,
): Verdict | undefined {
  if (sameTerm(before, record) !== undefined) return undefined;
  return { holds: true, say: `${letGo(name, before)}; it is still ${sayRecord(record)}` };
}

/** What stands there now, if it is the very term that stood there before. */
export function sameTerm(
  { record: before }: Situation,
  now: LeaseRecord | undefined,
): HeldRecord | undefined {
  if (before?.state !== 'held' || now?.state !== 'held') return undefined;
  return now.term === before.term ? now : undefined;
}

/** The term that was shown and agreed to: no other is to be ended. */
export function termOf({ record }: Situation): { readonly term?: number } {
  return record?.state === 'held' ? { term: record.term } : {};
}

export function letGo(name: string, { record }: Situation): string {
  if (record?.state !== 'held') return visible(name);
  return `term ${record.term} of ${visible(record.holder.id)} at ${visible(name)} has ended`;
}

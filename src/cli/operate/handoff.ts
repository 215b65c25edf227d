import type { Act, LeaseRecord } from '../../coordinators/index.js';
import { sayAct, sayRecord } from '../display/record.js';
import { visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { isWaiting, type OperatorAct, type Plan, type Situation, type Verdict } from './act.js';
import { holderLetsGo, untilLetGo } from './letting-go.js';
import { isRevoked, letGo, sameTerm, termOf } from './revoke.js';

/** Whom the name is to go to. */
export interface Successor {
  readonly to: string;
  /** How long the name is kept for it. */
  readonly reserveMs: number;
}

/** Ends the present term in favour of one holder id. */
export function handoffAct(name: string, act: Act, successor: Successor): OperatorAct {
  const request = { ...act, ...successor };
  return {
    verb: 'handoff',
    name,
    ...act,
    needsConsent: true,
    plan: (situation) => plan(situation, successor),
    perform: (coordinator, before, call) =>
      coordinator.revoke(name, { ...request, ...termOf(before) }, call),
    isDone: (before, record) => isRevoked(before, record, request),
    judge: (before, record) => judge(name, before, record, successor),
  };
}

function plan(situation: Situation, successor: Successor): Plan {
  const { record } = situation;
  const to = visible(successor.to);
  if (record?.state === 'reserved' && record.to === successor.to)
    return { kind: 'wait', because: `it is reserved for ${to} already` };
  if (record?.state !== 'held')
    return { kind: 'nothing', because: `nobody holds it: ${sayRecord(record)}`, holds: false };
  if (record.holder.id === successor.to)
    return {
      kind: 'nothing',
      because: `${to} holds it already, in term ${record.term}`,
      holds: true,
    };
  if (record.revocation?.to === successor.to)
    return { kind: 'wait', because: `it was revoked before, ${sayAct(record.revocation)}` };
  const reserved = `then it is kept ${sayDuration(successor.reserveMs)} for ${to} alone`;
  const beware = risk(situation, successor);
  const consequences = [holderLetsGo(record), reserved];
  const when = untilLetGo(record);
  return { kind: 'act', consequences, when, ...(beware === undefined ? {} : { beware }) };
}

function risk({ candidates }: Situation, { to, reserveMs }: Successor): string | undefined {
  const found = candidates.filter(({ id }) => id === to);
  if (found.some(isWaiting)) return undefined;
  const idle = `the name then stands empty for ${sayDuration(reserveMs)}, and is free`;
  const who = visible(to);
  if (found.length === 0) return `${who} is not among the candidates; if it does not come, ${idle}`;
  const standing = found[0]?.standing === 'observing' ? 'observes only' : 'does not wait now';
  return `${who} is a candidate that ${standing}; if that stays so, ${idle}`;
}

function judge(
  name: string,
  before: Situation,
  record: LeaseRecord | undefined,
  { to }: Successor,
): Verdict | undefined {
  if (sameTerm(before, record) !== undefined) return undefined;
  if (record?.state === 'reserved' && record.to === to) return undefined;
  // An expired lease with a lock-delay: the reservation follows it.
  if (record?.state === 'lock-delay') return undefined;
  const holds = record?.state === 'held' && record.holder.id === to;
  return { holds, say: `${letGo(name, before)}; now it is ${sayRecord(record)}` };
}

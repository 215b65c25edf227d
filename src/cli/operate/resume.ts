import type { Act, LeaseRecord } from '../../coordinators/index.js';
import { sayAct, sayRecord } from '../display/record.js';
import { visible } from '../display/visible.js';
import { isWaiting, type OperatorAct, type Plan, type Situation, type Verdict } from './act.js';

/** Ends a suspension. */
export function resumeAct(name: string, act: Act): OperatorAct {
  return {
    verb: 'resume',
    name,
    ...act,
    needsConsent: false,
    plan: (situation) => plan(situation),
    async perform(coordinator, _before, call) {
      await coordinator.resume(name, act, call);
      return undefined;
    },
    isDone: (_before, record) => record?.state !== 'suspended',
    judge: (before, record) => judge(name, before, record),
    judgeLate: (_before, record) => judgeLate(name, record),
  };
}

function plan({ record, candidates }: Situation): Plan {
  if (record?.state !== 'suspended')
    return { kind: 'nothing', because: `it is not suspended: ${sayRecord(record)}`, holds: true };
  const waiting = candidates.filter(isWaiting);
  const first = waiting[0];
  const next =
    first === undefined
      ? 'whoever asks for it first may hold it; nobody waits for it now'
      : `${visible(first.id)} is called first of ${waiting.length} who wait for it`;
  const consequences = [`the suspension ${sayAct(record.suspension)} ends`, next];
  return { kind: 'act', consequences, when: 'at once' };
}

function judge(
  name: string,
  { candidates }: Situation,
  record: LeaseRecord | undefined,
): Verdict | undefined {
  const resumed = `${visible(name)} is resumed`;
  switch (record?.state) {
    case 'suspended':
      return undefined;
    case 'held':
      if (record.revocation !== undefined) return undefined;
      break;
    case undefined:
      // Who waited has been called, and will be here soon.
      if (candidates.some(isWaiting)) return undefined;
  }
  return { holds: true, say: `${resumed}: ${sayRecord(record)}` };
}

/** The name may be held again, which is what was wanted; that nobody has come yet is for others to see to. */
function judgeLate(name: string, record: LeaseRecord | undefined): Verdict | undefined {
  if (record?.state === 'suspended') return undefined;
  return { holds: true, say: `${visible(name)} is resumed, and still ${sayRecord(record)}` };
}

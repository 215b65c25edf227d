import type { Act, LeaseRecord } from '../../coordinators/index.js';
import { sayAct } from '../display/record.js';
import { visible } from '../display/visible.js';
import type { WriteCommand } from '../next-command.js';
import type { OperatorAct, Plan, Verdict } from './act.js';
import { holderLetsGo, untilLetGo } from './letting-go.js';

/** The kill switch: nobody may hold the name until it is resumed. */
export function suspendAct(name: string, act: Act): OperatorAct {
  return {
    verb: 'suspend',
    name,
    ...act,
    needsConsent: true,
    plan: ({ record }, write) => plan(name, record, write),
    perform: (coordinator, _before, call) => coordinator.suspend(name, act, call),
    isDone: (_before, record) => record?.state === 'suspended',
    judge: (_before, record) => judge(name, record),
  };
}

function plan(name: string, record: LeaseRecord | undefined, write: WriteCommand): Plan {
  const next = `nobody may hold it until: ${write(['resume', name], '--reason <why>')}`;
  switch (record?.state) {
    case 'suspended': {
      const because = `it was suspended before, ${sayAct(record.suspension)}`;
      if (record.ending === undefined) return { kind: 'nothing', because, holds: true };
      return { kind: 'wait', because };
    }
    case 'held':
      return { kind: 'act', consequences: [holderLetsGo(record), next], when: untilLetGo(record) };
    default:
      return { kind: 'act', consequences: [next], when: 'at once' };
  }
}

function judge(name: string, record: LeaseRecord | undefined): Verdict | undefined {
  if (record?.state !== 'suspended')
    return { holds: false, say: `${visible(name)} is not suspended: somebody has resumed it` };
  if (record.ending !== undefined) return undefined;
  return { holds: true, say: `${visible(name)} is suspended, and nobody holds it` };
}

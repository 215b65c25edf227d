import { sayRecord, sayRemaining } from '../display/record.js';
import { visible } from '../display/visible.js';
import { OptionNeededError } from '../exit-status.js';
import type { Session } from '../session.js';
import { wrap } from '../wrap.js';
import type { OperatorAct, Plan, Situation } from './act.js';

const indent = ' '.repeat('  risk:  '.length);

/** Shows what stands there now, what will happen and by when. */
export function showPlan(session: Session, act: OperatorAct, before: Situation, plan: Plan): void {
  const { terminal, address, namespace } = session;
  const { record } = before;
  const left = sayRemaining(record);
  const line = (label: string, text: string) => {
    const lines = wrap(text, terminal.noteColumns - indent.length);
    terminal.note(`  ${label.padEnd(indent.length - 2)}${lines.join(`\n${indent}`)}`);
  };
  terminal.note(`${act.verb} ${visible(act.name)}`);
  line('at:', `${visible(address)}, namespace ${visible(namespace)}`);
  line('now:', `${sayRecord(record)}${left === '' ? '' : `, ${left} left`}`);
  if (plan.kind !== 'act') {
    line('', plan.because);
    return;
  }
  for (const [index, text] of plan.consequences.entries()) line(index === 0 ? 'then:' : '', text);
  line('when:', plan.when);
  if (plan.beware !== undefined) line('risk:', plan.beware);
  line('why:', `${visible(act.reason)}, by ${visible(act.by)}`);
}

/**
 * Whether a person agrees.
 *
 * @throws {OptionNeededError} if nobody can be asked, and nobody has agreed beforehand.
 */
export async function agree(
  { terminal, signal }: Pick<Session, 'terminal' | 'signal'>,
  hasAgreed: boolean,
): Promise<boolean> {
  if (hasAgreed) return true;
  if (!terminal.isInteractive) {
    throw new OptionNeededError(
      'nobody can be asked without a terminal, so nothing was done. If the plan above is what you want, pass --yes.',
      '--yes',
    );
  }
  const answer = await terminal.ask('Go on? [y/N] ', signal);
  return /^y(es)?$/i.test(answer.trim());
}

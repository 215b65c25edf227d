import type { OperatorAct } from '../../../src/cli/operate/act.js';
import { operate } from '../../../src/cli/operate/operate.js';
import { call } from '../../support/call.js';
import type { Desk } from '../session.js';

export { call } from '../../support/call.js';

export const act = { by: 'ana@desk', reason: 'INC-12' };
export const toSecond = { to: 'replica-2', reserveMs: 30_000 };

export interface OrderOptions {
  readonly yes?: boolean;
  readonly timeoutMs?: number;
  readonly format?: 'text' | 'json';
}

/** Gives the order; time stands still meanwhile. */
export function begin(
  desk: Desk,
  operatorAct: OperatorAct,
  options: OrderOptions = {},
): Promise<number> {
  const { yes = true, timeoutMs = 60_000, format = 'text' } = options;
  return operate(desk.session, operatorAct, { yes, timeoutMs, format });
}

/** Gives the order, and lets time pass until it is done; the exit status. */
export function finish(
  desk: Desk,
  operatorAct: OperatorAct,
  options: OrderOptions = {},
): Promise<number> {
  return desk.runtime.advanceUntil(begin(desk, operatorAct, options));
}

export const standing = async ({ session }: Desk) =>
  (await session.coordinator.read(['payments'], call))[0];

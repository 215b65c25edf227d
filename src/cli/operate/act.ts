import type { CallOptions, Candidate, Coordinator, LeaseRecord } from '../../coordinators/index.js';
import type { WriteCommand } from '../next-command.js';

/** What an operator's command found. */
export interface Situation {
  readonly record: LeaseRecord | undefined;
  readonly candidates: readonly Candidate[];
}

/** It is called when the name becomes free. */
export function isWaiting({ standing }: Candidate): boolean {
  return standing === 'waiting';
}

/** What will happen, in words; or why nothing will. */
export type Plan =
  | {
      readonly kind: 'act';
      /** One line each: what follows for the present holder, and for the name. */
      readonly consequences: readonly string[];
      /** By when it will have happened. */
      readonly when: string;
      /** What may go wrong with it. */
      readonly beware?: string;
    }
  /** It was done before, and its effect is still to come. */
  | { readonly kind: 'wait'; readonly because: string }
  /** There is nothing to do: `holds` says whether what was wanted is so already. */
  | { readonly kind: 'nothing'; readonly because: string; readonly holds: boolean };

/** What came of it: `holds` says whether it is what was wanted. */
export interface Verdict {
  readonly holds: boolean;
  readonly say: string;
}

/** One thing an operator can do to a name. */
export interface OperatorAct {
  /** Its command. */
  readonly verb: 'revoke' | 'handoff' | 'suspend' | 'resume';
  readonly name: string;
  /** Who does it and why, for the plan. */
  readonly by: string;
  readonly reason: string;
  /** Whether a person has to agree before. */
  readonly needsConsent: boolean;
  plan(situation: Situation, write: WriteCommand): Plan;
  /**
   * Asks the store to do it in the situation that was shown: to that term and no other. Answers with what stands there then,
   * where the store tells.
   */
  perform(
    coordinator: Coordinator,
    before: Situation,
    call: CallOptions,
  ): Promise<LeaseRecord | undefined>;
  /** After a request whose outcome is unknown: whether it was executed, or there is nothing left to do. */
  isDone(before: Situation, record: LeaseRecord | undefined): boolean;
  /** What came of it, or `undefined` as long as that is open. */
  judge(before: Situation, record: LeaseRecord | undefined): Verdict | undefined;
  /** What it means that the time is up before there was a verdict. `undefined`: that it was not in time. */
  judgeLate?(before: Situation, record: LeaseRecord | undefined): Verdict | undefined;
}

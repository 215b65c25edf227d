import type { ScriptCall } from '../../../drivers/redis/index.js';
import type { AcquireRequest } from '../../contract.js';
import { historyLifeMs } from '../../history.js';
import { endCall, endScript, locate, whole } from '../../redis/index.js';
import type { QuorumKeys } from '../keys.js';
import { validityMs } from '../limits.js';
import { answersOf, type Votes } from '../majority.js';
import { confirmScript } from '../scripts/confirm.js';
import { type AcquireCall, tellAll } from './call.js';

/** `missing`: there is no claim. */
type Confirmation = 'confirmed' | 'missing' | 'adopted' | 'suspended' | 'taken';

/** Claims that a majority gave, each with the highest of their terms. */
export type Won = ReadonlyMap<AcquireRequest, number>;

export interface Confirmed {
  /** What is in force, and answered. */
  readonly granted: Won;
  /** All others are certainly not in force. */
  readonly isSettled: boolean;
}

/** The second step: makes leases of the claims. */
export async function confirm(call: AcquireCall, won: Won): Promise<Confirmed> {
  const byTerm = new Map<number, AcquireRequest[]>();
  for (const [request, term] of won) byTerm.set(term, [...(byTerm.get(term) ?? []), request]);
  const groups = await Promise.all(
    [...byTerm].map(([term, requests]) =>
      confirmIn(term, call, requests)
        // Without an answer for all of them there may be one for some.
        .catch(() => ({ granted: new Map<AcquireRequest, number>(), isSettled: false })),
    ),
  );
  return {
    granted: new Map(groups.flatMap(({ granted }) => [...granted])),
    isSettled: groups.every(({ isSettled }) => isSettled),
  };
}

/** What all nodes are told. */
interface Step {
  readonly term: number;
  readonly requests: readonly AcquireRequest[];
  /** Unix ms: the time of the grant. */
  readonly stampMs: number;
}

async function confirmIn(
  term: number,
  call: AcquireCall,
  requests: readonly AcquireRequest[],
): Promise<Confirmed> {
  const { majority, nodes } = call.quorum;
  const step = { term, requests, stampMs: call.quorum.stampMs() };
  const votes = await ask(call, step);
  const elapsedMs = call.quorum.nowMs() - call.startedAtMs;
  const silentCount = nodes.length - answersOf(votes).length;
  const granted = new Map<AcquireRequest, number>();
  const failed: AcquireRequest[] = [];
  let isSettled = true;
  for (const [index, request] of requests.entries()) {
    const count = confirmedCount(votes, index);
    const isValid = validityMs(request.ttlMs, elapsedMs) > 0;
    if (count >= majority && isValid) granted.set(request, term);
    else failed.push(request);
    if (count < majority && count + silentCount >= majority) isSettled = false;
    if (count >= majority && !isValid) isSettled = false;
  }
  bringToOthers(call, step, votes, granted);
  // What a majority may have confirmed is for the caller to release: it may be in force since an earlier call.
  if (failed.length > 0 && isSettled) await release(call, failed);
  return { granted, isSettled };
}

function ask(
  { quorum, deadline, nodeTimeoutMs }: AcquireCall,
  step: Step,
): Promise<Votes<Confirmation[]>> {
  const { majority, keys } = quorum;
  return quorum.ask<Confirmation[]>(
    {
      script: confirmScript,
      call: confirmCall(keys, step, false),
      parse: (reply) => reply as Confirmation[],
      isDecided: (soFar) =>
        step.requests.every((_, index) => {
          const count = confirmedCount(soFar, index);
          const pendingCount = soFar.filter(({ kind }) => kind === 'pending').length;
          return count >= majority || count + pendingCount < majority;
        }),
      nodeTimeoutMs,
    },
    deadline,
  );
}

function confirmedCount(votes: Votes<Confirmation[]>, index: number): number {
  return answersOf(votes).filter(({ answer }) => answer[index] === 'confirmed').length;
}

/**
 * What is granted goes to the nodes that had no claim for it: a lease at a bare majority ends with the next node that fails.
 *
 * Only now: what a minority confirmed would else stand at a majority, and look like a lease that nobody was granted. Not
 * awaited: it goes ahead of everything that follows on the same connections.
 */
function bringToOthers(
  { quorum, nodeTimeoutMs }: AcquireCall,
  step: Step,
  votes: Votes<Confirmation[]>,
  granted: Won,
): void {
  for (const { node, answer } of answersOf(votes)) {
    const requests = step.requests.filter(
      (request, index) => answer[index] === 'missing' && granted.has(request),
    );
    if (requests.length === 0) continue;
    const call = confirmCall(quorum.keys, { ...step, requests }, true);
    void quorum.askOne(node, confirmScript, call, nodeTimeoutMs);
  }
}

function confirmCall(
  keys: QuorumKeys,
  { term, requests, stampMs }: Step,
  isGranted: boolean,
): ScriptCall {
  const { places, indexes, groups, numbers } = locate(keys, requests);
  return {
    keys: [
      keys.term,
      keys.suspended,
      ...places.map(({ lease }) => lease),
      ...places.map(({ history }) => history),
      ...indexes,
    ],
    args: [
      requests.length,
      term,
      stampMs,
      isGranted ? 1 : 0,
      ...groups.map((group) => keys.wake(group)),
      ...requests.flatMap((request, index) => [
        request.holder.wire,
        request.attempt,
        whole(request.ttlMs),
        request.metadata ?? '',
        request.name,
        numbers[index] ?? 0,
        whole(request.graceMs ?? 0),
        request.keepHistory === true ? historyLifeMs : 0,
      ]),
    ],
  };
}

/** What was confirmed at too few nodes to be a lease. */
async function release(call: AcquireCall, failed: readonly AcquireRequest[]): Promise<void> {
  const releases = failed.map(({ name, holder, attempt }) => ({ name, holder, attempt }));
  await tellAll(call, { script: endScript, call: endCall(call.quorum.keys, releases) });
}

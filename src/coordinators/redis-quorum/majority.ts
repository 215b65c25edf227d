/** How many nodes have to agree, so that any two majorities have a node in common. */
export function majorityOf(nodeCount: number): number {
  return Math.floor(nodeCount / 2) + 1;
}

/** What became of a request at one node. */
export type Vote<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** `executed`: whether the node may have done it all the same. */
  | { readonly kind: 'failed'; readonly error: Error; readonly executed: 'no' | 'unknown' }
  /** The node is not (any more, or yet) a member: it did nothing, and its vote does not count. */
  | { readonly kind: 'outsider' }
  | { readonly kind: 'pending' };

/** The votes of all nodes, each at the number of its node. */
export type Votes<Answer> = readonly Vote<Answer>[];

export interface Answered<Answer> {
  readonly node: number;
  readonly answer: Answer;
}

export function answersOf<Answer>(votes: Votes<Answer>): Answered<Answer>[] {
  return votes.flatMap((vote, node) =>
    vote.kind === 'answered' ? [{ node, answer: vote.answer }] : [],
  );
}

/** Whether the node may have done what it was asked, or may still do it. */
export function mayBeExecuted(vote: Vote<unknown>): boolean {
  if (vote.kind === 'failed') return vote.executed === 'unknown';
  return vote.kind === 'answered' || vote.kind === 'pending';
}

/** The votes of a second asking: who did nothing this time, may have done it the time before. */
export function inDoubtSince<Answer>(before: Votes<unknown>, votes: Votes<Answer>): Votes<Answer> {
  return votes.map((vote, node) => {
    const then = before[node];
    if (then === undefined || !mayBeExecuted(then) || mayBeExecuted(vote)) return vote;
    const error =
      vote.kind === 'failed' ? vote.error : new Error('a node is not a member any more.');
    return { kind: 'failed', error, executed: 'unknown' };
  });
}

/** How many nodes hold something, how many say nothing about it, and how many would be needed. */
export interface Support {
  readonly count: number;
  readonly silentCount: number;
  readonly majority: number;
}

/** A majority may hold it: what is silent may agree. Who asks must then take it for held. */
export function mayHold({ count, silentCount, majority }: Support): boolean {
  return count > 0 && count + silentCount >= majority;
}

/** Whatever the silent nodes would say, it changes nothing. */
export function isCertain({ count, silentCount, majority }: Support): boolean {
  return count >= majority || count === 0 || count + silentCount < majority;
}

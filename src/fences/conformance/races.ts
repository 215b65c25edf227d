import assert from 'node:assert/strict';
import { StaleTermError } from '../../errors/index.js';
import { realRuntime, sleep } from '../../time/index.js';
import { VirtualRuntime } from '../../time/virtual.js';
import type { FencingToken } from '../contract.js';
import {
  assertStale,
  checked,
  freshName,
  Gate,
  outcomeOf,
  settlesSoon,
  settlesWithin,
  succeeded,
  tokenOf,
} from './scenario.js';
import type { BatchFenceCase, BatchFenceSubject, FenceCase, FenceSubject } from './subject.js';

type OpenWrite<Subject> = (subject: Subject, token: FencingToken, gate: Gate) => Promise<void>;

/** Half of the time that a writer in a stream is at work. */
const halfWorkMs = 25;

/** For what must not wait at all, on the slowest machine. */
const patienceMs = 5000;

/** A transaction that has checked and written, and then hangs before its commit. */
const throughFence: OpenWrite<BatchFenceSubject<unknown>> = async ({ fence, write }, token, gate) =>
  await fence.transaction(token, async (open) => {
    await write(open, token.name, 'predecessor');
    await gate.pass();
  });

const throughCheck: OpenWrite<FenceSubject<unknown>> = async (
  { fence, transaction, write },
  token,
  gate,
) =>
  await transaction(async (open) => {
    await fence.check(open, token);
    await write(open, token.name, 'predecessor');
    await gate.pass();
  });

/** The same, but nothing written yet: a check that is forgotten before the first write shows here. */
const writesLate: OpenWrite<BatchFenceSubject<unknown>> = async ({ fence, write }, token, gate) =>
  await fence.transaction(token, async (open) => {
    await gate.pass();
    await write(open, token.name, 'predecessor');
  });

/**
 * The predecessor's write and the successor's take-over race. Either the write commits first and the successor, once
 * its take-over has resolved, sees it; or it is refused, and never shows.
 */
async function raceTakeover<Subject extends BatchFenceSubject<unknown>>(
  subject: Subject,
  openWrite: OpenWrite<Subject>,
  takeOver: (successor: FencingToken) => Promise<unknown>,
): Promise<void> {
  const name = freshName('race');
  const predecessor = tokenOf(name, 5);
  await subject.fence.claim(predecessor);
  const gate = new Gate();
  const write = outcomeOf(openWrite(subject, predecessor, gate));
  await Promise.race([gate.reached, write]);

  const takeover = takeOver(tokenOf(name, 6));
  const wentFirst = await settlesSoon(takeover);
  const seenAtTakeover = wentFirst ? await subject.read(name) : undefined;
  gate.open();
  const writeOutcome = await write;
  await takeover;

  const seen = await subject.read(name);
  if (succeeded(writeOutcome)) {
    assert.ok(!wentFirst, 'a write of term 5 committed after term 6 had been installed');
    assert.equal(seen, 'predecessor', 'a committed write is not visible to the successor');
  } else {
    const { error } = writeOutcome as { error: unknown };
    assert.ok(error instanceof StaleTermError, `not a StaleTermError: ${error}`);
    assert.equal(seenAtTakeover, undefined, 'a write was visible before its commit');
    assert.equal(seen, undefined, 'a refused write shows');
  }
  assert.equal(await subject.other.installedTerm(name), 6);
}

/** Everything that happens between the check and the commit. */
export const raceCases: readonly BatchFenceCase[] = [
  {
    id: 'claim-before-read',
    title: 'lets a claim and an open write of the predecessor happen in one order only',
    run: (subject) => raceTakeover(subject, throughFence, (token) => subject.other.claim(token)),
  },
  {
    id: 'claim-before-late-write',
    title: 'covers a write that the predecessor begins after the claim was made',
    run: (subject) => raceTakeover(subject, writesLate, (token) => subject.other.claim(token)),
  },
  {
    id: 'higher-write-races-open-write',
    title: "orders a successor's first write, too, against the predecessor's open one",
    run: (subject) =>
      raceTakeover(subject, throughFence, (token) =>
        subject.other.transaction(token, async () => {}),
      ),
  },
  {
    id: 'writers-of-one-term',
    title: 'commits all writers of one term, side by side where that is promised',
    async run({ fence, other, write, read }) {
      const name = freshName('writers');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      const gate = new Gate();
      const slow = fence.transaction(token, async (open) => {
        await write(open, `${name}/slow`, 'done');
        await gate.pass();
      });
      await gate.reached;
      const quick = other.transaction(token, (open) => write(open, `${name}/quick`, 'done'));
      const isQuick =
        fence.promises.writersOfOneTerm === 'serial' || (await settlesWithin(quick, patienceMs));
      const seen = [await read(`${name}/slow`), await read(`${name}/quick`)];
      gate.open();
      await Promise.all([slow, quick]);
      assert.ok(isQuick, 'a writer waited for another one of the same term');
      assert.equal(seen[0], undefined);
      if (fence.promises.writersOfOneTerm === 'concurrent') assert.equal(seen[1], 'done');
      assert.equal(await read(`${name}/slow`), 'done');
      assert.equal(await read(`${name}/quick`), 'done');
    },
  },
  {
    id: 'stale-refused-at-once',
    title:
      'refuses an old owner while the newest one is at work, if the resource lets them in side by side',
    async run(subject) {
      const { fence, other } = subject;
      const isSerial = fence.promises.writersOfOneTerm === 'serial';
      const name = freshName('at-once');
      const owner = tokenOf(name, 6);
      const stale = tokenOf(name, 5);
      await fence.claim(owner);
      const gate = new Gate();
      const open = fence.transaction(owner, () => gate.pass());
      await Promise.race([gate.reached, open]);
      const attempts = [other.claim(stale), other.transaction(stale, async () => {})];
      if (!isSerial) attempts.push(checked(subject, other, stale, async () => {}));
      const refusals = Promise.all(attempts.map((attempt) => assertStale(attempt, 5, 6)));
      // That of a serial one may have to wait for its turn.
      const isQuick = isSerial || (await settlesWithin(refusals, patienceMs));
      gate.open();
      await open;
      await refusals;
      assert.ok(isQuick, 'an old owner waited for the newest one, only to be refused');
    },
  },
  {
    id: 'claim-through-a-stream-of-writers',
    title: 'lets a claim through writers of the old term, of whom there is always one at work',
    run: (subject) => claimThroughStream(subject),
  },
  {
    id: 'concurrent-first-writes',
    title: 'lets several writers of a term that is new to the fence install it together',
    async run({ fence, other, write, read }) {
      const name = freshName('first');
      for (const term of [5, 6]) {
        const token = tokenOf(name, term);
        const writes = [fence, other, fence, other].map((handle, index) =>
          handle.transaction(token, (open) => write(open, `${name}/${index}`, `${term}`)),
        );
        await Promise.all(writes);
        for (const index of writes.keys()) {
          assert.equal(await read(`${name}/${index}`), `${term}`);
        }
      }
    },
  },
  {
    id: 'concurrent-claims',
    title: 'lets one of two claims of one term win, and the higher of two terms stay',
    async run({ fence, other }) {
      for (let round = 0; round < 20; round++) {
        const name = freshName('claims');
        const rivals = [fence.claim(tokenOf(name, 7)), other.claim(tokenOf(name, 7))];
        const winners = (await Promise.all(rivals.map(outcomeOf))).filter(succeeded);
        assert.equal(winners.length, 1, 'one term was claimed by two holders');
        const [, higher] = await Promise.all([
          outcomeOf(fence.claim(tokenOf(name, 8))),
          outcomeOf(other.claim(tokenOf(name, 9))),
        ]);
        assert.ok(succeeded(higher), 'the higher of two claims was refused');
        assert.equal(await fence.installedTerm(name), 9);
      }
    },
  },
  {
    id: 'terms-never-fall',
    title: 'never applies a lower term after a higher one, in 200 random interleavings',
    async run(subject) {
      const name = freshName('random');
      const runtime = new VirtualRuntime({ seed: 20_260_101 });
      let highest = 0;
      for (let round = 0; round < 200; round++)
        highest = await randomRound(subject, name, runtime, highest);
      assert.ok(highest > 50, 'too few terms were installed to prove anything');
    },
  },
];

/** Between the check of a transaction of the user's own and its commit. */
export const checkedRaceCases: readonly FenceCase[] = [
  {
    id: 'check-is-atomic-with-effect',
    title: "keeps a check valid until the user's own transaction commits",
    run: (subject) => raceTakeover(subject, throughCheck, (token) => subject.other.claim(token)),
  },
];

async function claimThroughStream({ fence, other }: BatchFenceSubject<unknown>): Promise<void> {
  const name = freshName('stream');
  const old = tokenOf(name, 5);
  await fence.claim(old);
  const gate = new Gate();
  // Nobody is stopped there: it tells that somebody has come.
  gate.open();
  const writers: Promise<unknown>[] = [];
  const refused: unknown[] = [];
  let isOver = false;
  const write = async (): Promise<void> => {
    const work = async () => {
      await sleep(realRuntime, halfWorkMs);
      if (!isOver) writers.push(write());
      await gate.pass();
      await sleep(realRuntime, halfWorkMs);
    };
    const outcome = await outcomeOf(fence.transaction(old, work));
    if ('error' in outcome) refused.push(outcome.error);
  };
  writers.push(write());
  await gate.reached;
  // Serial writers stand in one queue with those of their own fence alone.
  const successor = fence.promises.writersOfOneTerm === 'serial' ? fence : other;
  const claim = successor.claim(tokenOf(name, 6));
  const isThrough = await settlesWithin(claim, patienceMs);
  isOver = true;
  for (const writer of writers) await writer;
  await claim;
  assert.ok(isThrough, 'writers of the old term kept a claim from being made');
  assert.ok(refused.length > 0, 'all writers of the old term committed');
  for (const error of refused) assert.ok(error instanceof StaleTermError, `${error}`);
}

/** A few attempts at once, with terms around the installed one. Returns the term installed afterwards. */
async function randomRound<Transaction>(
  subject: BatchFenceSubject<Transaction>,
  name: string,
  runtime: VirtualRuntime,
  installedBefore: number,
): Promise<number> {
  const attempts = Array.from({ length: 2 + Math.floor(runtime.random() * 3) }, async () => {
    const term = Math.max(1, installedBefore - 2 + Math.floor(runtime.random() * 5));
    const isClaim = runtime.random() < 0.3;
    const handle = runtime.random() < 0.5 ? subject.fence : subject.other;
    const token = tokenOf(name, term);
    const work = isClaim
      ? handle.claim(token)
      : handle.transaction(token, (open) => subject.write(open, name, `${term}`));
    return { term, isClaim, outcome: await outcomeOf(work) };
  });
  const passed = (await Promise.all(attempts)).filter(({ outcome }) => succeeded(outcome));
  const terms = passed.map(({ term }) => term);
  const highest = Math.max(installedBefore, ...terms);
  assert.equal(
    (await subject.fence.installedTerm(name)) ?? 0,
    highest,
    'the installed term is off',
  );
  // Whoever commits last leaves its term as the value: it must be the highest one that wrote.
  const written = passed.filter(({ isClaim }) => !isClaim).map(({ term }) => term);
  if (written.length > 0) {
    assert.equal(await subject.read(name), `${Math.max(...written)}`, 'a lower term applied last');
  }
  assert.equal(new Set(terms).size, terms.length, 'two holders passed with one term');
  const repeated = passed.filter(({ term }) => term <= installedBefore);
  assert.deepEqual(repeated, [], 'a holder that never had the installed term passed');
  return highest;
}

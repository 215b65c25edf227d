import assert from 'node:assert/strict';
import { highestTerm } from '../../coordinators/index.js';
import { ClosedError, OptionError } from '../../errors/index.js';
import type { FencingToken } from '../contract.js';
import { checked, freshName, isInteractive, outcomeOf, tokenOf } from './scenario.js';
import type { BatchFenceCase } from './subject.js';

async function assertRejects(
  attempt: Promise<unknown>,
  expected: typeof OptionError | typeof ClosedError,
  what: string,
): Promise<void> {
  const outcome = await outcomeOf(attempt);
  assert.ok('error' in outcome, `${what} was accepted`);
  assert.ok(outcome.error instanceof expected, `${what}: ${outcome.error}`);
}

/** Bad input, and the end. */
export const inputCases: readonly BatchFenceCase[] = [
  {
    id: 'bad-tokens-refused',
    title: 'refuses terms, names and holders that are none, and installs nothing for them',
    async run(subject) {
      const { fence } = subject;
      const name = freshName('bad');
      const good = tokenOf(name, 5);
      const badTerms = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, highestTerm + 1, '6'];
      const badTokens = [
        ...badTerms.map((term) => ({ ...good, term })),
        ...['', '/', 'a//b', '../up', 'nul\0', 'n'.repeat(256), 7].map((bad) => ({
          ...good,
          name: bad,
        })),
        ...['worker', undefined, { digest: 'short' }].map((holder) => ({ ...good, holder })),
      ] as unknown as FencingToken[];
      for (const bad of badTokens) {
        const what = `${String(bad.name).slice(0, 20)}, ${bad.term}`;
        await assertRejects(fence.claim(bad), OptionError, what);
        await assertRejects(
          fence.transaction(bad, async () => {}),
          OptionError,
          what,
        );
        await assertRejects(
          checked(subject, fence, bad, async () => {}),
          OptionError,
          what,
        );
      }
      assert.equal(await fence.installedTerm(name), undefined);
    },
  },
  {
    id: 'bad-effects-refused',
    title: 'refuses scopes, keys, numbers and ids that are none',
    async run(subject) {
      const { fence } = subject;
      const scope = freshName('bad');
      const token = tokenOf(scope, 5);
      const bad: [string, string, number, string][] = [
        ['', 'key', 1, 'id'],
        [scope, '', 1, 'id'],
        [scope, 'nul\0', 1, 'id'],
        [scope, 'k'.repeat(1025), 1, 'id'],
        [scope, 'key', -1, 'id'],
        [scope, 'key', 0.5, 'id'],
        [scope, 'key', 2 ** 53, 'id'],
        [scope, 'key', 1, ''],
        [scope, 'key', 1, 'nul\0'],
        [scope, 'key', 1, 'half \ud800'],
        [scope, 'key', 1, 'i'.repeat(256)],
        [scope, 'key', 1, undefined as never],
      ];
      for (const effect of bad) {
        const attempt = isInteractive(subject)
          ? subject.transaction((open) => fence.recordOnce(open, ...effect))
          : fence.transaction(token, (open) => fence.recordOnce(open, ...effect));
        await assertRejects(attempt, OptionError, `effect ${String(effect).slice(0, 60)}`);
      }
    },
  },
  {
    id: 'holder-nonce-not-shown',
    title: "never puts a holder's nonce into a refusal",
    async run({ fence }) {
      const name = freshName('secret');
      const token = tokenOf(name, 5);
      await fence.claim(tokenOf(name, 6));
      const outcome = await outcomeOf(fence.claim(token));
      assert.ok('error' in outcome && outcome.error instanceof Error);
      const [, nonce] = token.holder.wire.split(':');
      const shown = `${outcome.error.message}${outcome.error.stack}${JSON.stringify(outcome.error)}`;
      assert.ok(!shown.includes(String(nonce)), 'the nonce is in the error');
    },
  },
  {
    id: 'close-is-final',
    title: 'refuses everything after close, which may be called twice, and spares other handles',
    async run(subject) {
      const { fence, other } = subject;
      const name = freshName('closed');
      const token = tokenOf(name, 5);
      await fence.claim(token);
      await Promise.all([fence.close(), fence.close()]);
      await fence.close();
      await assertRejects(fence.claim(token), ClosedError, 'claim');
      await assertRejects(
        fence.transaction(token, async () => {}),
        ClosedError,
        'transaction',
      );
      await assertRejects(fence.installedTerm(name), ClosedError, 'installedTerm');
      if (isInteractive(subject)) {
        const check = checked(subject, fence, token, async () => {});
        await assertRejects(check, ClosedError, 'check');
        const record = subject.transaction((open) => fence.recordOnce(open, name, 'key', 1, 'id'));
        await assertRejects(record, ClosedError, 'recordOnce');
      }
      assert.equal(await other.installedTerm(name), 5);
    },
  },
];

import type { FencingToken } from '../../../src/fences/index.js';
import type { MemoryTransaction } from '../../../src/fences/memory/index.js';
import {
  type Candidate,
  type InstalledTerm,
  judge,
  type Verdict,
} from '../../../src/fences/rule.js';
import { realRuntime, sleep } from '../../../src/time/index.js';
import { staleError, TemplateFence, type WrongFence, wrong } from './template.js';

class NeverInstallsByWrite extends TemplateFence {
  override async check(transaction: MemoryTransaction, token: FencingToken): Promise<void> {
    const candidate = this.accept(token);
    const terms = transaction.table<InstalledTerm>('terms');
    const installed = terms.peek(token.name);
    if (judge(installed, candidate) !== 'pass') throw staleError(candidate, installed);
  }
}

/** Keeps the refused term as the highest one seen, which would lock the owner out. */
class InstallsWhatItRefuses extends TemplateFence {
  protected override refuse(
    _transaction: MemoryTransaction,
    candidate: Candidate,
    installed: InstalledTerm | undefined,
  ): void {
    const { name, term, holderDigest } = candidate;
    // In a transaction of its own, which nobody rolls back.
    this.resource
      .transaction(async (own) =>
        own.table<InstalledTerm>('terms').set(name, { term, holderDigest }),
      )
      .catch(() => {});
    throw staleError(candidate, installed);
  }
}

class IgnoresClaims extends TemplateFence {
  override async claim(token: FencingToken): Promise<void> {
    this.accept(token);
  }
}

/** Remembers what it claimed, in this process alone. */
class ClaimsForItselfOnly extends TemplateFence {
  readonly #claimed = new Map<string, InstalledTerm>();

  override async claim(token: FencingToken): Promise<void> {
    const candidate = this.accept(token);
    const installed = this.#claimed.get(token.name);
    if (judge(installed, candidate) === 'refuse') throw staleError(candidate, installed);
    this.#claimed.set(token.name, candidate);
  }

  protected override judge(installed: InstalledTerm | undefined, candidate: Candidate): Verdict {
    const claimed = this.#claimed.get(candidate.name);
    const isClaimHigher = claimed !== undefined && claimed.term > (installed?.term ?? 0);
    return judge(isClaimHigher ? claimed : installed, candidate);
  }
}

/** Commits a claim in steps: reads, waits, writes what it thought was right. */
class ClaimsInTwoSteps extends TemplateFence {
  override async claim(token: FencingToken): Promise<void> {
    const candidate = this.accept(token);
    const { name, term, holderDigest } = candidate;
    const installedTerm = await this.installedTerm(name);
    if (installedTerm !== undefined && term <= installedTerm) {
      await super.claim(token);
      return;
    }
    await Promise.resolve();
    await this.resource.transaction(async (open) =>
      open.table<InstalledTerm>('terms').set(name, { term, holderDigest }),
    );
  }
}

class InstallsBeforeTheWork extends TemplateFence {
  override async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    await this.resource.transaction((own) => this.check(own, token));
    return await super.transaction(token, work);
  }
}

/** Two transactions that read "nothing installed" and both install the same are no conflict. */
class CollidesWithItself extends TemplateFence {
  override async check(transaction: MemoryTransaction, token: FencingToken): Promise<void> {
    transaction.table<InstalledTerm>('terms').get(token.name);
    await super.check(transaction, token);
  }
}

class ShowsTheNonce extends TemplateFence {
  override async claim(token: FencingToken): Promise<void> {
    await super.claim(token).catch((error: Error) => {
      throw Object.assign(error, { holder: token.holder.wire });
    });
  }
}

/** A lock that writers share: whoever wants it alone has to find it free, which it never is. */
class StarvesClaims extends TemplateFence {
  static writerCount = 0;

  override async transaction<Result>(
    token: FencingToken,
    work: (transaction: MemoryTransaction) => Promise<Result>,
  ): Promise<Result> {
    StarvesClaims.writerCount += 1;
    try {
      return await super.transaction(token, work);
    } finally {
      StarvesClaims.writerCount -= 1;
    }
  }

  override async claim(token: FencingToken): Promise<void> {
    while (StarvesClaims.writerCount > 0) await sleep(realRuntime, 1);
    await this.resource.transaction((own) => this.check(own, token));
  }
}

/** Mistakes in how a term gets in. */
export const installing: readonly WrongFence[] = [
  wrong('never installs by a write', NeverInstallsByWrite, 'higher-term-installs'),
  wrong(
    'installs what it refuses',
    InstallsWhatItRefuses,
    'lower-term-refused',
    'refusal-leaves-nothing',
  ),
  wrong('ignores claims', IgnoresClaims, 'claim-installs', 'claim-before-read'),
  wrong('keeps claims to itself', ClaimsForItselfOnly, 'claim-installs'),
  wrong('claims in two steps', ClaimsInTwoSteps, 'concurrent-claims', 'terms-never-fall'),
  wrong('installs before the work', InstallsBeforeTheWork, 'failed-work-leaves-nothing'),
  wrong('starves claims', StarvesClaims, 'claim-through-a-stream-of-writers'),
  wrong('collides with itself', CollidesWithItself, 'concurrent-first-writes'),
  wrong('shows the nonce', ShowsTheNonce, 'holder-nonce-not-shown'),
];

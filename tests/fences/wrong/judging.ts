import type { FencingToken } from '../../../src/fences/index.js';
import {
  type Candidate,
  type InstalledTerm,
  judge,
  type Verdict,
} from '../../../src/fences/rule.js';
import { TemplateFence, type WrongFence, wrong } from './template.js';

class ChecksNothing extends TemplateFence {
  override async check(): Promise<void> {}
}

class TakesAnyHolder extends TemplateFence {
  protected override judge(installed: InstalledTerm | undefined, candidate: Candidate): Verdict {
    return installed === undefined || candidate.term >= installed.term ? 'install' : 'refuse';
  }
}

class TakesOnlyHigher extends TemplateFence {
  protected override judge(installed: InstalledTerm | undefined, candidate: Candidate): Verdict {
    return installed === undefined || candidate.term > installed.term ? 'install' : 'refuse';
  }
}

/** Right at the check and at the commit, but what it installs at the commit was judged at the check. */
class LowersTerms extends TemplateFence {
  protected override judge(installed: InstalledTerm | undefined, candidate: Candidate): Verdict {
    const isHolder = installed?.holderDigest === candidate.holderDigest;
    return installed?.term === candidate.term && isHolder ? 'pass' : 'install';
  }
}

class ComparesTermsAsText extends TemplateFence {
  protected override judge(installed: InstalledTerm | undefined, candidate: Candidate): Verdict {
    if (installed === undefined) return 'install';
    if (`${candidate.term}` > `${installed.term}`) return 'install';
    return candidate.term === installed.term ? judge(installed, candidate) : 'refuse';
  }
}

class KeepsOneTermForAll extends TemplateFence {
  protected override accept(token: FencingToken): Candidate {
    return { ...super.accept(token), name: 'everything' };
  }

  override async installedTerm(): Promise<number | undefined> {
    return await super.installedTerm('everything');
  }
}

class NormalisesNames extends TemplateFence {
  protected override accept(token: FencingToken): Candidate {
    const candidate = super.accept(token);
    return { ...candidate, name: candidate.name.normalize('NFC') };
  }

  override async installedTerm(name: string): Promise<number | undefined> {
    return await super.installedTerm(name.normalize('NFC'));
  }
}

class AcceptsAnyInput extends TemplateFence {
  protected override accept(token: FencingToken): Candidate {
    const { name, term, holder } = token;
    return { name, term, holderDigest: holder?.digest ?? '', token, resource: 'memory' };
  }
}

/** A single-precision column, or a language without 64-bit integers. */
class RoundsTerms extends TemplateFence {
  override async installedTerm(name: string): Promise<number | undefined> {
    const term = await super.installedTerm(name);
    return term === undefined ? undefined : Math.fround(term);
  }
}

/** The error alone: work that swallows it goes on, and the lease is renewed. */
class TellsNoToken extends TemplateFence {
  protected override accept(token: FencingToken): Candidate {
    return { ...super.accept(token), token: { ...token, supersede: () => {} } };
  }
}

/** Mistakes in what passes, and in whom a refusal is told. */
export const judging: readonly WrongFence[] = [
  wrong('checks nothing', ChecksNothing, 'lower-term-refused', 'refusal-leaves-nothing'),
  wrong(
    'takes the term from any holder',
    TakesAnyHolder,
    'equal-term-of-another-incarnation-refused',
  ),
  wrong(
    'takes only higher terms',
    TakesOnlyHigher,
    'equal-term-of-the-holder-passes',
    'claim-is-repeatable',
  ),
  wrong('lowers terms', LowersTerms, 'lower-term-refused', 'terms-never-fall'),
  wrong('compares terms as text', ComparesTermsAsText, 'terms-never-fall'),
  wrong('keeps one term for all names', KeepsOneTermForAll, 'names-are-independent'),
  wrong('normalises names', NormalisesNames, 'names-are-independent'),
  wrong('accepts any input', AcceptsAnyInput, 'bad-tokens-refused'),
  wrong('tells no token that it is refused', TellsNoToken, 'refusal-ends-the-token'),
  wrong('rounds terms', RoundsTerms, 'highest-term-exact'),
];

import type { SuiteCase } from '../../conformance/index.js';
import type { CoordinatorPromises, TermHazard } from '../contract.js';
import { Scene } from './scene.js';
import type { ConformanceSubject, ControlName } from './subject.js';

/** A promise that a case demonstrates: a field of the declaration, or one hazard that terms survive. */
export type DemonstratedPromise = Exclude<keyof CoordinatorPromises, 'termsSurvive'> | TermHazard;

/** One requirement on every coordinator. */
export interface ConformanceCase extends SuiteCase<ConformanceSubject, ControlName> {
  readonly demonstrates: readonly DemonstratedPromise[];
  /** Why a store that declares these promises need not pass it; `undefined` if it must. */
  exemption(promises: CoordinatorPromises): string | undefined;
}

interface CaseParts {
  readonly needs?: readonly ControlName[];
  readonly demonstrates?: readonly DemonstratedPromise[];
  readonly exemption?: (promises: CoordinatorPromises) => string | undefined;
}

export function defineCase(
  id: string,
  title: string,
  run: (scene: Scene) => Promise<void>,
  parts: CaseParts = {},
): ConformanceCase {
  return {
    id,
    title,
    needs: parts.needs ?? [],
    demonstrates: parts.demonstrates ?? [],
    exemption: parts.exemption ?? (() => undefined),
    run: (subject) => run(new Scene(subject)),
  };
}

/** For cases about a hazard that only some stores declare to survive. */
export function unlessSurviving(
  hazard: TermHazard,
): (promises: CoordinatorPromises) => string | undefined {
  return ({ store, termsSurvive }) =>
    termsSurvive.includes(hazard)
      ? undefined
      : `${store} does not promise that terms survive "${hazard}"`;
}

import { StreamScene } from './scene.js';
import type { StreamControlName, StreamSubject } from './subject.js';

/** One requirement of the stream contract, in a form that can fail. */
export interface StreamConformanceCase {
  /** `<theme>/<what>`: stable, so that reports and known deviations can name it. */
  readonly id: string;
  /** The requirement, in the present tense. */
  readonly title: string;
  /** The controls it cannot do without. */
  readonly needs: readonly StreamControlName[];
  /** Throws unless the subject meets the requirement. The subject is used for this case alone. */
  run(subject: StreamSubject): Promise<void>;
}

export function defineStreamCase(
  id: string,
  title: string,
  run: (scene: StreamScene) => Promise<void>,
  needs: readonly StreamControlName[] = [],
): StreamConformanceCase {
  return { id, title, needs, run: (subject) => run(new StreamScene(subject)) };
}

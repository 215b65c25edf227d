import type { SuiteCase } from '../../conformance/index.js';
import { StreamScene } from './scene.js';
import type { StreamControlName, StreamSubject } from './subject.js';

/** One requirement on every stream store. */
export type StreamConformanceCase = SuiteCase<StreamSubject, StreamControlName>;

export function defineStreamCase(
  id: string,
  title: string,
  run: (scene: StreamScene) => Promise<void>,
  needs: readonly StreamControlName[] = [],
): StreamConformanceCase {
  return { id, title, needs, run: (subject) => run(new StreamScene(subject)) };
}

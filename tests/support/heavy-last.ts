import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What fills the processors for minutes, and does not mind: beside it, tests that depend on time would fail by time alone. */
const heavyRooms = /\/tests\/(?:chaos|sim|spec)\//;

/** Runs the heavy rooms after all others, beside each other only. */
export class HeavyLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isHeavy = ({ moduleId }: TestSpecification) => heavyRooms.test(moduleId);
    return [...sorted.filter((file) => !isHeavy(file)), ...sorted.filter(isHeavy)];
  }
}

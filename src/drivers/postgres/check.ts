import type { Runtime } from '../../time/index.js';
import { classifyPostgresError } from './errors.js';
import type { Line, ServerCheck } from './lines.js';

/** Asks a server who it is, and what time it has. @returns what a person should know. */
export async function runCheck(
  line: Line,
  check: ServerCheck,
  runtime: Runtime,
  deadlineMs: number,
): Promise<readonly string[]> {
  const sentAtMs = runtime.now().monotonicMs;
  try {
    const { rows } = await line.query<Record<string, unknown>>(check.text, [], deadlineMs);
    const [row = {}] = rows;
    line.clock.observe(Number(row.now), sentAtMs, runtime.now().monotonicMs);
    return check.accept(row);
  } catch (error) {
    throw classifyPostgresError(check.explain(error), 'connect', 'the first question to it');
  }
}

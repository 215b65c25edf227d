import { spawn } from 'node:child_process';
import type { EndReason } from '../../leases/index.js';
import { childEnvironment, type TermFacts } from './environment.js';
import { type ChildEnd, statusOf } from './gated-child.js';
import { kernelTimeOf, later } from './kernel-time.js';
import { type CommandLine, resolveCommand } from './plan.js';
import { ProcessGroup } from './process-group.js';
import type { RunContext } from './run-context.js';
import { stopGroup } from './stop-group.js';

/** It is not to keep us from campaigning again for ever. */
const limitMs = 30_000;
/** Between SIGTERM and SIGKILL. */
const stopGraceMs = 2_000;

/**
 * Runs the command for losses, when nothing is left of the child. It is told the same, and why; it does *not* work under
 * the lease, which has ended. What goes wrong with it is said, and changes nothing.
 */
export async function runOnLost(
  context: RunContext,
  command: CommandLine,
  facts: TermFacts,
  reason: EndReason,
): Promise<void> {
  const { voice, environment } = context;
  try {
    const [program = '', ...args] = resolveCommand(command, environment);
    const told = { ...childEnvironment(environment, facts), TENURE_REASON: reason };
    const end = await runBounded(context, program, args, told);
    if (end === 'too-long') voice.say(`--on-lost was stopped after ${limitMs / 1_000} s`);
    else if (statusOf(end) !== 0) voice.say(`--on-lost ended with status ${statusOf(end)}`);
  } catch (error) {
    voice.say(`--on-lost: ${error instanceof Error ? error.message : String(error)}`);
  }
}

async function runBounded(
  { runtime }: RunContext,
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ChildEnd | 'too-long'> {
  const child = spawn(program, args, {
    detached: true,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const ended = new Promise<ChildEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const { pid } = child;
  if (pid === undefined) return ended;
  let isTooLong = false;
  const timer = runtime.setTimer(limitMs, () => {
    isTooLong = true;
    const killAt = later(kernelTimeOf(runtime.now()), stopGraceMs);
    void stopGroup(runtime, new ProcessGroup(pid), { killAt });
  });
  const end = await ended;
  timer.cancel();
  return isTooLong ? 'too-long' : end;
}

import { Pauses } from '../../elections/pause.js';
import type { EndReason, Lease } from '../../leases/index.js';
import { elapsedMs, sleep } from '../../time/index.js';
import { sayDuration } from '../duration.js';
import { exitStatus, InterruptedError } from '../exit-status.js';
import { campaign, quoted } from './campaign.js';
import { ChildLife } from './child-life.js';
import { runOnLost } from './on-lost.js';
import { Outage } from './outage.js';
import { resolveCommand } from './plan.js';
import type { RunContext } from './run-context.js';

/**
 * Campaigns, runs the command while this process leads, and after a loss does so again if that is wanted: never two
 * children at a time, since the next campaign begins when nothing is left of the last.
 *
 * @returns the exit status.
 * @throws what is an error, and {@link ProgramError} for a command that cannot be run.
 */
export async function supervise(context: RunContext): Promise<number> {
  const { plan, runtime, watch, environment } = context;
  // A mistyped command is told at once, and not when somebody else has died some day.
  resolveCommand(plan.command, environment);
  if (plan.onLost !== undefined) resolveCommand(plan.onLost, environment);
  watch.prepare();
  const stopTelling = tellOfElection(context);
  const pauses = new Pauses(runtime);
  try {
    for (let hasLed = false; ; hasLed = true) {
      const lease = await campaign(context, hasLed);
      if (typeof lease === 'number') return lease;
      const electedAt = runtime.now();
      const end = await serve(context, lease);
      if (typeof end === 'number') return end;
      const heldMs = elapsedMs(electedAt, runtime.now());
      await pause(context, pauses.afterMs({ reason: end.lostBy, heldMs }));
    }
  } finally {
    stopTelling();
  }
}

/** What stands in the evidence of a command that ended by itself. */
class CommandFailure extends Error {
  constructor(status: number) {
    super(`the command ended with status ${status}`);
    this.name = `exit status ${status}`;
  }
}

/** The exit status, or why the lease was lost, if it is to be campaigned for again. */
async function serve(
  context: RunContext,
  lease: Lease,
): Promise<number | { readonly lostBy: EndReason }> {
  const { plan, election, signals, voice, address, write } = context;
  const end = await new ChildLife(context, lease).run();
  switch (end.how) {
    case 'ended':
      if (end.status !== 0 && !signals.isToldToEnd)
        election.workFailed(lease.term, new CommandFailure(end.status));
      return end.status;
    case 'interrupted':
      throw new InterruptedError(end.signal);
    case 'unwatched':
      voice.advise('dmesg, journalctl: who kills processes here?');
      return exitStatus.internal;
    case 'lost':
      if (plan.onLost !== undefined) await runOnLost(context, plan.onLost, end.facts, end.reason);
      if (!plan.restartsOnLoss || signals.isToldToEnd) {
        voice.advise(write(['history', plan.name]), address);
        return exitStatus.lost;
      }
      return { lostBy: end.reason };
  }
}

/** Leaves the name to others for a while, by the rule that holds for everybody who has led. */
async function pause({ plan, runtime, signals, voice }: RunContext, pauseMs: number) {
  const when = pauseMs === 0 ? '' : ` in ${sayDuration(pauseMs)}`;
  voice.say(`campaigning for ${quoted(plan.name)} again${when}`);
  const stopping = signals.passToWait();
  await sleep(runtime, pauseMs, stopping);
  signals.keep();
  stopping.throwIfAborted();
}

/** What happens between the lines, in words. */
function tellOfElection({ election, leases, voice, runtime }: RunContext): () => void {
  const over = new AbortController();
  const ask = () => election.read();
  const outage = new Outage({ runtime, voice, ask, signal: over.signal });
  const unsubscribes = [
    () => over.abort(),
    election.events.on('campaignFailed', ({ error }) =>
      outage.failed(
        error,
        `${error instanceof Error ? error.message : String(error)} Trying again.`,
      ),
    ),
    election.events.on('duplicate', ({ id }) =>
      voice.say(`another live process uses the id ${id}; give each one of its own with --id`),
    ),
    leases.events.on('uncertain', ({ lease }) => {
      const seconds = (lease.remainingMs / 1_000).toFixed(1);
      voice.say(
        `the lease is uncertain: the command is stopped in ${seconds} s unless it is renewed`,
      );
    }),
    leases.events.on('recovered', () => voice.say('the lease is renewed again')),
  ];
  return () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  };
}

import { writeFile } from 'node:fs/promises';
import {
  adviseTtl,
  measureForTtl,
  plotTtl,
  recordedSample,
  type TtlSample,
} from '../../diagnosis/index.js';
import { readEvidence } from '../../elections/index.js';
import { OptionError } from '../../errors/index.js';
import { jsonText, visible } from '../display/visible.js';
import { writeDuration } from '../duration.js';
import { call, type Session } from '../session.js';
import { sayAdvice } from './say-advice.js';

export interface AdviseOrder {
  readonly forMs: number;
  readonly onceInMs: number;
  readonly election: string | undefined;
  readonly plot: string | undefined;
  readonly format: 'text' | 'json';
}

/** Measures, and prints which ttl is advised. `false`: none is. */
export async function advise(session: Session, order: AdviseOrder): Promise<boolean> {
  const { coordinator, terminal, runtime, signal, address, namespace } = session;
  const { forMs, onceInMs, plot, format } = order;
  // Before minutes of measuring.
  if (plot !== undefined) await writePlot(plot, '');
  const recorded = await recordedBy(session, order.election);
  terminal.note(`tenure advise: measuring for ${writeDuration(forMs)} at ${visible(address)}`);
  const measured = await measureForTtl({ coordinator, runtime, forMs, signal });
  signal.throwIfAborted();
  const { smallestTtlMs, largestTtlMs } = coordinator.promises;
  const samples = recorded === undefined ? [measured] : [measured, recorded];
  const advice = adviseTtl(samples, { onceInMs, smallestTtlMs, largestTtlMs });
  if (plot !== undefined) await writePlot(plot, plotTtl(advice));
  if (format === 'json') {
    const { ttlMs = null, ...rest } = advice;
    terminal.print(jsonText({ store: address, namespace, ttlMs, ...rest }, 2));
  } else {
    for (const line of sayAdvice(advice, terminal)) terminal.print(line);
  }
  return advice.ttlMs !== undefined;
}

async function recordedBy(
  { coordinator, terminal, runtime }: Session,
  election: string | undefined,
): Promise<TtlSample | undefined> {
  if (election === undefined) return undefined;
  const [history, evidence] = await Promise.all([
    coordinator.history(election, call),
    readEvidence(coordinator, election, call),
  ]);
  const sample = recordedSample(history, evidence, runtime.now().wallMs);
  if (sample === undefined)
    terminal.note(
      `tenure advise: no loss of ${visible(election)} is recorded that a ttl could spare`,
    );
  return sample;
}

async function writePlot(file: string, svg: string): Promise<void> {
  try {
    await writeFile(file, svg);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new OptionError('--plot', file, `cannot be written (${why})`, 'name another file');
  }
}

import type { RunRecord } from '../../schedule/index.js';
import { sayInstant } from '../display/instant.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { runAsJson, sayDetail, sayState, sayTook } from './run-text.js';
import type { JobSession } from './session.js';

/** Prints the runs of a job, the latest tick last, so that what matters most stands above the prompt. */
export async function history(
  session: JobSession,
  job: string,
  limit: number,
  format: 'text' | 'json',
): Promise<boolean> {
  const { jobs, terminal, address, namespace } = session;
  const runs = (await jobs.history(job, { limit })).reverse();
  if (format === 'json') {
    const asJson = runs.map(runAsJson);
    terminal.print(jsonText({ store: address, namespace, job, runs: asJson }, 2));
    return true;
  }
  if (runs.length === 0) {
    terminal.note(`no run of ${visible(job)} yet`);
    return true;
  }
  const headers = ['TICK', 'RUN', 'STATE', 'TOOK', 'ATTEMPTS', 'BY', 'TERM', 'DETAIL'];
  printTable(terminal, headers, runs.map(asRow));
  if (runs.length === limit) terminal.note(`only the last ${limit} runs; more with --limit`);
  return true;
}

function asRow(run: RunRecord): string[] {
  return [
    sayInstant(run.tickMs),
    run.state === 'skipped' ? '-' : visible(run.id),
    sayState(run),
    sayTook(run) || '-',
    String(run.attempt),
    visible(run.holderId) || '-',
    run.term === 0 ? '-' : String(run.term),
    sayDetail(run),
  ];
}

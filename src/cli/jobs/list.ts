import { RecordCorruptError } from '../../errors/index.js';
import type { JobListing, Jobs, RunRecord } from '../../schedule/index.js';
import { JobUnknownError } from '../../schedule/index.js';
import { sayInstant } from '../display/instant.js';
import { sayAct } from '../display/record.js';
import { printTable } from '../display/table.js';
import { jsonText, visible } from '../display/visible.js';
import { sayDuration } from '../duration.js';
import { hasEnded, runAsJson, sayState } from './run-text.js';
import type { JobSession } from './session.js';

/** Prints all jobs of the store, by name. */
export async function list(session: JobSession, format: 'text' | 'json'): Promise<boolean> {
  const { jobs, terminal, address, namespace } = session;
  const listings = await jobs.list();
  // One after the other: a small pool has no connection for all at once.
  const lasts: Awaited<ReturnType<typeof lastEnded>>[] = [];
  for (const listing of listings) lasts.push(await lastEnded(jobs, listing));
  if (format === 'json') {
    const asJson = listings.map((listing, index) => listingAsJson(listing, lasts[index]));
    terminal.print(jsonText({ store: address, namespace, jobs: asJson }, 2));
    return true;
  }
  if (listings.length === 0) {
    terminal.note(`no jobs in namespace ${visible(namespace)}`);
    terminal.note(`  at: ${visible(address)}`);
    terminal.note('  a job is there once a process that defines it has led');
    return true;
  }
  const headers = ['JOB', 'CRON', 'TIME ZONE', 'NEXT', 'LAST', 'NOW', 'LED BY', 'TERM', 'NOTE'];
  printTable(
    terminal,
    headers,
    listings.map((listing, index) => asRow(listing, lasts[index])),
  );
  for (const { job, problem } of listings)
    if (problem !== undefined) terminal.note(`${visible(job)}: ${visible(problem)}`);
  return true;
}

/** Among so many there is one that has ended, if there is any: of a job, one run is open as a rule. */
const looked = 10;

/** How its last run ended is told also while a later one is open. */
async function lastEnded(jobs: Jobs, { job, latest }: JobListing): Promise<RunRecord | undefined> {
  if (latest === undefined || hasEnded(latest)) return latest;
  try {
    return (await jobs.history(job, { limit: looked })).find(hasEnded);
  } catch (error) {
    // Somebody has removed it meanwhile, or one of its runs: what else stands of it is shown.
    if (error instanceof JobUnknownError || error instanceof RecordCorruptError) return undefined;
    throw error;
  }
}

function asRow(listing: JobListing, last: RunRecord | undefined): string[] {
  const { job, cron, timeZone, nextMs, open, leaderId, term } = listing;
  return [
    visible(job),
    visible(cron) || '-',
    visible(timeZone) || '-',
    nextMs === undefined ? '-' : sayInstant(nextMs),
    last === undefined ? '-' : sayState(last),
    open === undefined ? '' : sayOpen(listing),
    visible(leaderId) || '-',
    term === 0 ? '-' : String(term),
    sayNote(listing),
  ];
}

function sayNote(listing: JobListing): string {
  const { pause, overdueMs, aheadMs, openMs } = listing;
  return [
    sayLeadership(listing),
    overdueMs < noticedMs ? '' : `due ${sayDuration(overdueMs)} ago`,
    openMs < longMs ? '' : `begun ${sayDuration(openMs)} ago`,
    aheadMs === 0 ? '' : `${sayDuration(aheadMs)} ahead of the store's clock, which was set back`,
    pause === undefined ? '' : `paused ${sayAct(pause)}`,
    sayRequests(listing),
  ]
    .filter((text) => text !== '')
    .join('; ');
}

/** A leader begins what is due within moments, and nobody has to know of these. */
const noticedMs = 5_000;
/** A run that has been open for longer may hang. */
const longMs = 60_000;

/** Why nobody runs a job; nothing if somebody does. */
export function sayLeadership(listing: JobListing): string {
  const { leadership, electedId = '', election, leaderId } = listing;
  const last = `(last: ${visible(leaderId)})`;
  switch (leadership) {
    case 'leaderless':
      return `nobody leads it ${last}`;
    case 'left-out':
      return `${visible(electedId)} leads ${visible(election)} and does not run it ${last}`;
    case 'suspended':
      return `${visible(election)} is suspended: nobody may lead it`;
    case 'unreadable':
      return 'it cannot be read, and nobody runs it';
    case 'led':
    case 'external':
      return '';
  }
}

function sayOpen({ open }: JobListing): string {
  if (open === undefined) return '';
  const attempt = open.attempt > 1 ? `, attempt ${open.attempt}` : '';
  return `${sayState(open)}${attempt}`;
}

function sayRequests({ requests }: JobListing): string {
  if (requests.length === 0) return '';
  return requests.length === 1 ? 'a run is asked for' : `${requests.length} runs are asked for`;
}

function listingAsJson(listing: JobListing, last: RunRecord | undefined): object {
  const { job, cron, timeZone, election, leaderId, term, pause, nextMs } = listing;
  const { leadership, electedId = null, overdueMs, aheadMs, openMs, problem = null } = listing;
  return {
    ...{
      job,
      cron,
      timeZone,
      election,
      leaderId,
      term,
      leadership,
      electedId,
      overdueMs,
      aheadMs,
      openMs,
      problem,
    },
    nextAtMs: nextMs ?? null,
    pause: pause ?? null,
    open: listing.open === undefined ? null : runAsJson(listing.open),
    latest: listing.latest === undefined ? null : runAsJson(listing.latest),
    lastEnded: last === undefined ? null : runAsJson(last),
    requestCount: listing.requests.length,
    requests: listing.requests.map(({ id, atMs, by, reason }) => ({ id, atMs, by, reason })),
  };
}

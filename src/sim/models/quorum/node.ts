import type { AcquireRequest, RenewRequest } from '../../../coordinators/contract.js';
import { isClaim } from '../../../coordinators/redis-quorum/merge/records.js';
import type { Ledger } from '../../../coordinators/rules/ledger.js';
import { grant } from '../../../coordinators/rules/operations.js';
import { describeLease, type StoredLease } from '../../../coordinators/rules/record.js';
import type { StoreServer } from '../server.js';

/** One server of a quorum. Without its memory it is no member: it has no vote until it was given back what a majority knows. */
export interface QuorumNode {
  readonly server: StoreServer;
  isMember: boolean;
}

/** What a copy of a lease has in place of its attempt: who asks for that again is not taken for having been granted it here. */
export const noAttempt = '0'.repeat(32);

/** Makes a lease, in the term that was chosen, of the claim that this attempt has here. */
export function confirmOne(
  ledger: Ledger,
  request: AcquireRequest,
  term: number,
  nowMs: number,
): boolean {
  ledger.lastTerm = Math.max(ledger.lastTerm, term);
  const record = ledger.records.get(request.name);
  const isOwn =
    record?.kind === 'lease' &&
    record.attempt === request.attempt &&
    record.holder.equals(request.holder);
  if (!isOwn || ledger.suspensions.has(request.name)) return false;
  if (isClaimed(request.name, record) || record.term !== term) grant(ledger, request, term, nowMs);
  return true;
}

/** Takes the claim of this attempt back; a lease stays. Nobody is called: whoever contended comes again by itself. */
export function takeBackOne(ledger: Ledger, { name, attempt }: AcquireRequest): void {
  const record = ledger.records.get(name);
  if (record?.kind !== 'lease' || record.attempt !== attempt || !isClaimed(name, record)) return;
  ledger.records.delete(name);
}

/** Brings a lease that a majority has to a node where the name is free. */
export function adoptOne(ledger: Ledger, request: RenewRequest, nowMs: number): void {
  const { name, holder, term, ttlMs, metadata } = request;
  ledger.lastTerm = Math.max(ledger.lastTerm, term);
  if (ledger.records.get(name) !== undefined || ledger.suspensions.has(name)) return;
  const copy = { name, holder, attempt: noAttempt, ttlMs };
  grant(ledger, { ...copy, ...(metadata !== undefined && { metadata }) }, term, nowMs);
}

/** What a majority of the others knows is given to a node that lost its memory. */
export function seed(node: QuorumNode, others: readonly QuorumNode[]): void {
  const { server } = node;
  server.execute({
    execute: (ledger, nowMs) => {
      for (const { server: source } of others) {
        const sourceMs = source.expire();
        ledger.lastTerm = Math.max(ledger.lastTerm, source.ledger.lastTerm);
        for (const [name, suspension] of source.ledger.suspensions)
          ledger.suspensions.set(name, suspension);
        for (const [name, record] of source.ledger.all) {
          if (record.kind === 'foreign') continue;
          if (record.kind === 'lease' && isClaimed(name, record)) continue;
          const known = ledger.records.get(name);
          const deadlineMs = nowMs + record.deadlineMs - sourceMs;
          if (known !== undefined && known.kind !== 'foreign' && known.term >= record.term)
            continue;
          const attempt = record.kind === 'lease' ? { attempt: noAttempt } : {};
          ledger.records.set(name, { ...record, ...attempt, deadlineMs });
        }
      }
    },
  });
  node.isMember = true;
}

function isClaimed(name: string, record: StoredLease): boolean {
  return isClaim(describeLease(name, record, 0));
}

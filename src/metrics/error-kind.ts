import { type ErrorCode, TenureError } from '../errors/index.js';

const kinds: Partial<Record<ErrorCode, string>> = {
  TENURE_UNREACHABLE: 'unreachable',
  TENURE_OUTCOME_UNKNOWN: 'outcome-unknown',
  TENURE_STORE_REFUSED: 'refused',
  TENURE_STORE_MISCONFIGURED: 'misconfigured',
  TENURE_RECORD_CORRUPT: 'corrupt',
  TENURE_CLOSED: 'closed',
};

/** A label for an error: one of few, whatever its message says. */
export function errorKind(error: unknown): string {
  return (error instanceof TenureError ? kinds[error.code] : undefined) ?? 'other';
}

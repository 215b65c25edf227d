import {
  OutcomeUnknownError,
  RecordCorruptError,
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
  UnreachableError,
} from '../../errors/index.js';
import { carriedKind, type ErrorKind, ofKind } from '../../errors/kinds.js';
import { sanitizedCause } from '../../errors/redact.js';

/** An error as it travels between threads, where a clone would lose its class and its code. */
export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code: string | undefined;
  readonly storeCode: string | undefined;
  readonly kind: ErrorKind | undefined;
  readonly cause: WireError | undefined;
}

export function toWire(thrown: unknown): WireError {
  const error = sanitizedCause(thrown);
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    stack,
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
    storeCode: error instanceof StoreRefusedError ? error.storeCode : undefined,
    kind: carriedKind(error),
    cause: cause instanceof Error ? toWire(cause) : undefined,
  };
}

/** Of the same class and code if it is what a store's answer, or none, is reported by; else a plain error of that name. */
export function fromWire(wire: WireError): Error {
  const error = revive(wire, wire.cause === undefined ? undefined : fromWire(wire.cause));
  if (wire.stack !== undefined) error.stack = wire.stack;
  return ofKind(wire.kind, error);
}

function revive({ code, storeCode, name, message }: WireError, cause: Error | undefined): Error {
  if (code === 'TENURE_STORE_REFUSED' && storeCode !== undefined)
    return new StoreRefusedError(storeCode, message, cause);
  const known = code === undefined ? undefined : classes.get(code);
  if (known !== undefined) return new known(message, cause);
  const error = new Error(message, cause === undefined ? undefined : { cause });
  error.name = name;
  return code === undefined ? error : Object.assign(error, { code });
}

const classes = new Map<string, new (message: string, cause?: unknown) => TenureError>([
  ['TENURE_UNREACHABLE', UnreachableError],
  ['TENURE_OUTCOME_UNKNOWN', OutcomeUnknownError],
  ['TENURE_STORE_MISCONFIGURED', StoreMisconfiguredError],
  ['TENURE_RECORD_CORRUPT', RecordCorruptError],
]);

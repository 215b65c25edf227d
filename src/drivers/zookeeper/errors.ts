import { StoreMisconfiguredError, StoreRefusedError } from '../../errors/index.js';

/** ZooKeeper's numbers for why it did not do something, as far as tenure tells them apart. */
export const errorCode = {
  noNode: -101,
  noAuth: -102,
  badVersion: -103,
  nodeExists: -110,
  notEmpty: -111,
  sessionExpired: -112,
  authFailed: -115,
  sessionMoved: -118,
} as const;

const words: Readonly<Record<number, string>> = {
  [-1]: 'SYSTEM_ERROR',
  [-2]: 'RUNTIME_INCONSISTENCY',
  [-5]: 'MARSHALLING_ERROR',
  [-6]: 'UNIMPLEMENTED',
  [-8]: 'BAD_ARGUMENTS',
  [-101]: 'NO_NODE',
  [-102]: 'NO_AUTH',
  [-103]: 'BAD_VERSION',
  [-108]: 'NO_CHILDREN_FOR_EPHEMERALS',
  [-110]: 'NODE_EXISTS',
  [-111]: 'NOT_EMPTY',
  [-112]: 'SESSION_EXPIRED',
  [-114]: 'INVALID_ACL',
  [-115]: 'AUTH_FAILED',
  [-118]: 'SESSION_MOVED',
  [-119]: 'NOT_READ_ONLY',
  [-125]: 'QUOTA_EXCEEDED',
  [-127]: 'THROTTLED',
};

/** The server answered that it did not do what was asked. */
export class ZooKeeperError extends Error {
  override readonly name = 'ZooKeeperError';
  readonly errorCode: number;
  /** Which operation of a multi failed. */
  readonly failedIndex: number | undefined;

  constructor(code: number, failedIndex?: number) {
    super(words[code] ?? `error ${code}`);
    this.errorCode = code;
    this.failedIndex = failedIndex;
  }
}

/** The connection ended before the answer came. What was asked may have been done. */
export class ConnectionLostError extends Error {
  override readonly name = 'ConnectionLostError';
}

/** The server says that it ended the session, or knows none of that number. */
export class SessionExpiredError extends Error {
  override readonly name = 'SessionExpiredError';
}

export function isZooKeeperError(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof ZooKeeperError && codes.includes(error.errorCode);
}

/** What a user is told of an answer that no rule of ours expects. */
export function refusal(what: string, error: ZooKeeperError): Error {
  const word = error.message;
  if (error.errorCode === errorCode.noAuth || error.errorCode === errorCode.authFailed) {
    return new StoreMisconfiguredError(
      `${what}: ZooKeeper says ${word}. Give user and password of the one who made the nodes, in the URL (user:password and an @ before its hosts), or rights on them to everybody.`,
      error,
    );
  }
  return new StoreRefusedError(word, `${what}: ZooKeeper says ${word} and did nothing.`, error);
}

import {
  StoreMisconfiguredError,
  StoreRefusedError,
  type TenureError,
} from '../../errors/index.js';
import { carriedKind, ofKind } from '../../errors/kinds.js';

/** An attempt that brought no answer. */
export class NoAnswer extends Error {
  /** Whether the request may have reached the server: then it may be executed, be it later. */
  readonly mayBeExecuted: boolean;
  /** Whether nothing came at all before the time was over. */
  readonly isSilence: boolean;

  constructor(message: string, mayBeExecuted: boolean, isSilence = false) {
    super(message);
    this.mayBeExecuted = mayBeExecuted;
    this.isSilence = isSilence;
  }

  /** The same of a request of which nothing was sent that counts. */
  notExecuted(): NoAnswer {
    return ofKind(carriedKind(this), new NoAnswer(this.message, false, this.isSilence));
  }
}

/** What was waited for is somebody else's request, and the time was over first. Nothing was sent. */
export class OutOfTime extends NoAnswer {
  constructor(what: string) {
    super(`${what} had to wait until its time was over`, false, true);
  }
}

/** The server does not know the token any more, or its users have changed since it was given. Not executed. */
export class TokenExpired extends Error {}

/** The request names a store lease that is gone. Not executed. */
export class LeaseNotFound extends Error {}

/** The store lease was made before, by an earlier execution of the same request. */
export class LeaseExists extends Error {}

/** The cluster does without users. */
export class AuthNotEnabled extends Error {}

/** An answer of the gateway that says what went wrong: a code of gRPC, and the server's words. */
export interface EtcdFailure {
  readonly code: number;
  readonly message: string;
}

/**
 * Codes of gRPC that leave open what became of the request: cancelled, unknown, deadline exceeded, internal, unavailable,
 * data loss. It may have been proposed to the other members before; and what says `unknown` may be no etcd.
 */
const openCodes = new Set([1, 2, 4, 13, 14, 15]);

/** Words of the server, in the order in which they are looked for. */
const meanings: readonly (readonly [RegExp, (address: string, what: string) => Error])[] = [
  [/requested lease not found/, () => new LeaseNotFound()],
  [/authentication is not enabled/, () => new AuthNotEnabled()],
  [/lease already exists/, () => new LeaseExists()],
  [/invalid auth token|revision of auth store is old/, () => new TokenExpired()],
  [/no leader/, (address) => ofKind('replica', new NoAnswer(`${address} has no leader`, false))],
  [
    /database space exceeded/,
    (address, what) =>
      new StoreRefusedError(
        'NOSPACE',
        `${address} refused ${what}: its database is full (alarm NOSPACE), so nothing can be acquired. Compact and defragment it, raise --quota-backend-bytes, then disarm the alarm with etcdctl alarm disarm.`,
      ),
  ],
  [
    /request is too large/,
    (address, what) =>
      new StoreRefusedError(
        'TOO_LARGE',
        `${address} refused ${what}: it is larger than a request may be there. Keep documents and metadata smaller, or raise --max-request-bytes.`,
      ),
  ],
  [
    /too many operations/,
    (address, what) =>
      new StoreMisconfiguredError(
        `${address} refused ${what}: a transaction takes fewer operations there than the default of 128. Set --max-txn-ops to 128 or more.`,
      ),
  ],
  [
    /authentication failed|user name is empty|user name not found/,
    (address, what) =>
      new StoreMisconfiguredError(
        `${address} refused ${what}: user or password is wrong, or missing. Put both into the URL.`,
      ),
  ],
  [
    /permission denied/,
    (address, what) =>
      new StoreMisconfiguredError(
        `${address} refused ${what}: its user lacks a right. Give it the role listed in node_modules/tenure/docs/protocol.md.`,
      ),
  ],
  [
    /corrupt cluster/,
    (address, what) =>
      new StoreRefusedError(
        'CORRUPT',
        `${address} refused ${what}: the members' data differ (alarm CORRUPT). Repair the cluster first.`,
      ),
  ],
];

/** What a failure that the server reports means for the request. Repeats none of its words: they may quote a key. */
export function failureError({ code, message }: EtcdFailure, address: string, what: string): Error {
  for (const [words, make] of meanings) if (words.test(message)) return make(address, what);
  if (openCodes.has(code)) {
    const answer = `${address} could not say what became of ${what} (code ${code} of gRPC)`;
    const kind = message.includes('leader changed') ? 'replica' : undefined;
    return ofKind(kind, new NoAnswer(answer, true));
  }
  return new StoreRefusedError(
    `GRPC_${code}`,
    `${address} refused ${what} with code ${code} of gRPC; nothing was executed.`,
  );
}

/** Something between answers in the place of a member: what was asked for may be executed all the same. */
export function foreignAnswer(address: string, status: number, mayBeExecuted: boolean): NoAnswer {
  return new NoAnswer(
    `${address} answered with status ${status} and no JSON of etcd`,
    mayBeExecuted,
  );
}

/** What answers there is no etcd with a JSON gateway. */
export function notEtcd(address: string, status: number): TenureError {
  return new StoreMisconfiguredError(
    `${address} answered with status ${status} and no JSON of etcd: it is no etcd of 3.4 or later, or its gateway is off (--enable-grpc-gateway).`,
  );
}

/** What went wrong, in each of the forms that gateways of different versions write; `undefined`: nothing. */
export function failureOf(raw: object): EtcdFailure | undefined {
  const { error, message, code } = raw as { error?: unknown; message?: unknown; code?: unknown };
  if (typeof error === 'object' && error !== null) {
    const stream = error as { grpc_code?: number; code?: number; message?: string };
    return { code: stream.grpc_code ?? stream.code ?? unknown, message: stream.message ?? '' };
  }
  if (error === undefined && (typeof code !== 'number' || message === undefined)) return undefined;
  const words = String(message ?? error);
  return { code: typeof code === 'number' ? code : unknown, message: words };
}

/** What gRPC calls an error that is none of its own. */
const unknown = 2;

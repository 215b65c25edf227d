import { StoreRefusedError } from '../../errors/index.js';

/*
 * Keys are texts of one character a byte (what `latin1` makes of them), since foreign ones need not be UTF-8. Values are
 * UTF-8. Leases are int64 in decimal.
 */

export interface EtcdKeyValue {
  readonly key: string;
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
  /** `'0'`: none. */
  readonly lease: string;
}

export interface KeyRange {
  readonly key: string;
  /** The first key after the range; absent: the one key alone. */
  readonly end?: string | undefined;
}

export type EtcdCompare =
  | { readonly range: KeyRange; readonly modBelow: number }
  | { readonly range: KeyRange; readonly mod: number };

export interface EtcdGet {
  readonly kind: 'get';
  readonly range: KeyRange;
  /** As it was then. Default: now. */
  readonly revision?: number | undefined;
  /** Only so many. Default: all. */
  readonly limit?: number;
  /** By key from the last, or by creation from the first. Default: by key from the first. */
  readonly order?: 'backwards' | 'created';
  /** Nothing but {@link TxnReply.counts}. */
  readonly isCount?: boolean;
}

export type EtcdOperation =
  | EtcdGet
  | { readonly kind: 'delete'; readonly range: KeyRange }
  | {
      readonly kind: 'put';
      readonly key: string;
      readonly value: string;
      /** `'0'`: none; `'keep'`: the one it has. */
      readonly lease: string;
    };

export interface TxnReply {
  readonly succeeded: boolean;
  readonly revision: number;
  /** What each `get` found, in their order. */
  readonly found: readonly (readonly EtcdKeyValue[])[];
  /** How many keys there are in the range of each `get`, be it that fewer were asked for. */
  readonly counts: readonly number[];
}

/** Every key that begins with `prefix`. */
export function withPrefix(prefix: string): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1);
  return { key: prefix, end: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}

const encodeKey = (key: string): string => Buffer.from(key, 'latin1').toString('base64');
const encodeValue = (value: string): string => Buffer.from(value, 'utf8').toString('base64');

function rangeFields({ key, end }: KeyRange) {
  return { key: encodeKey(key), ...(end === undefined ? {} : { range_end: encodeKey(end) }) };
}

export const watchFields = rangeFields;

export function txnBody(
  compares: readonly EtcdCompare[],
  operations: readonly EtcdOperation[],
  otherwise: readonly EtcdOperation[] = [],
): string {
  return JSON.stringify({
    compare: compares.map((compare) => ({
      ...rangeFields(compare.range),
      target: 'MOD',
      result: 'mod' in compare ? 'EQUAL' : 'LESS',
      mod_revision: String('mod' in compare ? compare.mod : compare.modBelow),
    })),
    success: operations.map(operationFields),
    failure: otherwise.map(operationFields),
  });
}

function operationFields(operation: EtcdOperation) {
  switch (operation.kind) {
    case 'get':
      return { request_range: getFields(operation) };
    case 'delete':
      return { request_delete_range: rangeFields(operation.range) };
    case 'put': {
      const { key, value, lease } = operation;
      const attached = lease === 'keep' ? { ignore_lease: true } : { lease };
      return { request_put: { key: encodeKey(key), value: encodeValue(value), ...attached } };
    }
  }
}

function getFields({ range, revision, limit, order, isCount }: EtcdGet) {
  return {
    ...rangeFields(range),
    ...(revision === undefined ? {} : { revision: String(revision) }),
    ...(limit === undefined ? {} : { limit: String(limit) }),
    ...(order === undefined ? {} : orders[order]),
    ...(isCount === true ? { count_only: true } : {}),
  };
}

const orders = {
  backwards: { sort_target: 'KEY', sort_order: 'DESCEND' },
  created: { sort_target: 'CREATE', sort_order: 'ASCEND' },
} as const;

/** What the gateway writes; fields that are zero or empty are left out. */
export interface RawKeyValue {
  readonly key?: string;
  readonly value?: string;
  readonly create_revision?: string;
  readonly mod_revision?: string;
  readonly lease?: string;
}

interface RawTxn {
  readonly header?: { readonly revision?: string };
  readonly succeeded?: boolean;
  readonly responses?: readonly {
    readonly response_range?: { readonly kvs?: RawKeyValue[]; readonly count?: string };
  }[];
}

export function txnReply(raw: unknown): TxnReply {
  const { header, succeeded = false, responses = [] } = raw as RawTxn;
  const ranges = responses.flatMap(({ response_range: range }) => range ?? []);
  return {
    succeeded,
    revision: safeInteger(header?.revision),
    found: ranges.map(({ kvs = [] }) => kvs.map(keyValue)),
    counts: ranges.map(({ count }) => safeInteger(count)),
  };
}

export function keyValue(raw: RawKeyValue): EtcdKeyValue {
  return {
    key: Buffer.from(raw.key ?? '', 'base64').toString('latin1'),
    value: Buffer.from(raw.value ?? '', 'base64').toString('utf8'),
    createRevision: safeInteger(raw.create_revision),
    modRevision: safeInteger(raw.mod_revision),
    lease: raw.lease ?? '0',
  };
}

/** Terms are safe integers, so a cluster whose revisions are not can grant none. */
export function safeInteger(text: string | undefined): number {
  const value = Number(text ?? 0);
  if (Number.isSafeInteger(value)) return value;
  throw new StoreRefusedError(
    'REVISION_TOO_LARGE',
    `the cluster is at revision ${text}, beyond 2^53: no term can be told. Use a new cluster.`,
  );
}

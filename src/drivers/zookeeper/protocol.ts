import type { JuteReader, JuteWriter } from './jute.js';

/** The requests that tenure makes, by ZooKeeper's numbers. */
export const opCode = {
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren: 8,
  check: 13,
  multi: 14,
  /** `create` that answers with the node's {@link NodeStat}; 3.5 and later. */
  create: 15,
  auth: 100,
  closeSession: -11,
} as const;

/** Numbers of requests that no counter gives. */
export const fixedXid = { notification: -1, ping: -2, auth: -4 } as const;

/** What a watch tells of. */
export const eventType = { deleted: 2, childrenChanged: 4 } as const;

/** Inside a multi the server takes every `create` for the older one, which answers with the path alone. */
const plainCreate = 1;
const anyVersion = -1;

export interface NodeStat {
  /** The transaction that created the node, and the one that last wrote its data. */
  readonly createdZxid: number;
  readonly modifiedZxid: number;
  /** Unix ms by the leader's clock. */
  readonly createdAtMs: number;
  readonly modifiedAtMs: number;
  /** How often the data was written after the creation. */
  readonly version: number;
  /** The session that the node goes with; 0 for one that stays. */
  readonly ephemeralOwner: bigint;
  readonly childCount: number;
}

export interface NodeContent {
  readonly data: Buffer;
  readonly stat: NodeStat;
}

/** One step of a {@link multi}; all of them happen, or none. A version of `undefined` is any. */
export type NodeOperation =
  | { readonly kind: 'check'; readonly path: string; readonly version?: number }
  | { readonly kind: 'delete'; readonly path: string; readonly version?: number }
  | {
      readonly kind: 'set';
      readonly path: string;
      readonly data: Buffer;
      readonly version?: number;
    }
  | {
      readonly kind: 'create';
      readonly path: string;
      readonly data: Buffer;
      /** Goes with the session that creates it. */
      readonly ephemeral?: boolean;
      /** The server appends ten digits that rise within the parent. */
      readonly sequential?: boolean;
    };

export interface NodeOperationResult {
  /** Of what was created. */
  readonly path: string | undefined;
  /** Of what was set, or created outside a multi. */
  readonly stat: NodeStat | undefined;
}

export interface AccessRule {
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

export const anybody: AccessRule = { permissions: 31, scheme: 'world', id: 'anyone' };
/** Whoever this connection has said it is. */
export const creatorOnly: AccessRule = { permissions: 31, scheme: 'auth', id: '' };

/**
 * A transaction number as a number: the epoch of the leader in the upper 32 bits, a counter in the lower.
 *
 * @throws {RangeError} beyond 2^53, which takes two million elections.
 */
export function zxidOf(value: bigint): number {
  const zxid = Number(value);
  if (Number.isSafeInteger(zxid)) return zxid;
  throw new RangeError(`the transaction number 0x${value.toString(16)} is beyond 2^53`);
}

export function readStat(reader: JuteReader): NodeStat {
  const createdZxid = zxidOf(reader.long());
  const modifiedZxid = zxidOf(reader.long());
  const createdAtMs = Number(reader.long());
  const modifiedAtMs = Number(reader.long());
  const version = reader.int();
  reader.int(); // of the children
  reader.int(); // of the access list
  const ephemeralOwner = reader.long();
  reader.int(); // length of the data
  const childCount = reader.int();
  reader.long(); // the last change of the children
  return {
    createdZxid,
    modifiedZxid,
    createdAtMs,
    modifiedAtMs,
    version,
    ephemeralOwner,
    childCount,
  };
}

export function writeCreate(
  writer: JuteWriter,
  operation: Extract<NodeOperation, { kind: 'create' }>,
  access: AccessRule,
): void {
  writer.text(operation.path).buffer(operation.data);
  writer.int(1).int(access.permissions).text(access.scheme).text(access.id);
  writer.int((operation.ephemeral === true ? 1 : 0) + (operation.sequential === true ? 2 : 0));
}

export function writeMulti(
  writer: JuteWriter,
  operations: readonly NodeOperation[],
  access: AccessRule,
): void {
  for (const operation of operations) {
    writer.int(codeOf(operation)).bool(false).int(-1);
    if (operation.kind === 'create') {
      writeCreate(writer, operation, access);
      continue;
    }
    writer.text(operation.path);
    if (operation.kind === 'set') writer.buffer(operation.data);
    writer.int(operation.version ?? anyVersion);
  }
  writer.int(-1).bool(true).int(-1);
}

function codeOf({ kind }: NodeOperation): number {
  return kind === 'set' ? opCode.setData : opCode[kind];
}

/** The answer to a multi: one result each; or which operation failed first, and why. */
export type MultiAnswer =
  | { readonly results: readonly NodeOperationResult[] }
  | { readonly failedIndex: number; readonly errorCode: number };

export function readMulti(reader: JuteReader): MultiAnswer {
  const results: NodeOperationResult[] = [];
  for (let index = 0; ; index++) {
    const type = reader.int();
    const isDone = reader.bool();
    reader.int();
    if (isDone) return { results };
    if (type === -1) {
      // Those before the one that failed say 0, for they were undone.
      const errorCode = reader.int();
      if (errorCode !== 0) return { failedIndex: index, errorCode };
      continue;
    }
    const path = type === plainCreate ? reader.text() : undefined;
    results.push({ path, stat: type === opCode.setData ? readStat(reader) : undefined });
  }
}

import { createHash } from 'node:crypto';

/** A statement that a session parses once, and keeps under a name until it ends. */
export interface PreparedStatement {
  /** Says what it is, whoever prepared it: two texts never share one. */
  readonly name: string;
  readonly text: string;
  /** The OIDs of its parameters' types. */
  readonly types: readonly number[];
}

export const textType = 25;
export const bigintType = 20;

export function preparedStatement(text: string, types: readonly number[] = []): PreparedStatement {
  const digest = createHash('sha256')
    .update(JSON.stringify([text, types]))
    .digest('hex');
  return { name: `tenure_${digest.slice(0, 16)}`, text, types };
}

/** Parses it, in place of what has its name in the session: that there is none is no error. */
export function prepareMessage({ name, text, types }: PreparedStatement): Buffer {
  const parse = message('P', zeroEnded(name), zeroEnded(text), counted(types.map(int32)));
  return Buffer.concat([message('C', 'S', zeroEnded(name)), parse]);
}

/** Runs it to its end, with values that are sent as text. Its rows come without a description. */
export function executeMessage(statement: PreparedStatement, values: readonly string[]): Buffer {
  const bound = values.map((value) => {
    const bytes = Buffer.from(value);
    return Buffer.concat([int32(bytes.length), bytes]);
  });
  const asText = int16(0);
  const bind = message('B', unnamed, zeroEnded(statement.name), asText, counted(bound), asText);
  return Buffer.concat([bind, message('E', unnamed, int32(0))]);
}

/** Statements without parameters, and the end of their message. */
export function queryMessage(text: string): Buffer {
  return message('Q', zeroEnded(text));
}

function message(kind: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

function zeroEnded(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function counted(parts: readonly Buffer[]): Buffer {
  return Buffer.concat([int16(parts.length), ...parts]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

const unnamed = zeroEnded('');

/** Ends a message of prepared statements: after a failure the server skips everything up to it. */
export const syncMessage = message('S');

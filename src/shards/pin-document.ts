import { largestDocumentBytes, type StoredDocument } from '../coordinators/index.js';
import { OptionError, RecordCorruptError } from '../errors/index.js';
import { type Pin, PinTable } from './pin-table.js';

/*
 * The stored form of a table: {"format":1,"shardCount":256,"pins":[["key",300],["other",12,301]]}. An entry of two is a
 * pinned key and its shard, one of three a moving key, where from and where to. Keys are elements and never names of
 * properties, so no key can mean anything else.
 */

const format = 1;

/** @throws {OptionError} if the text would be larger than a document may be. */
export function formatPins(table: PinTable): string {
  const pins = [...table.entries()].map(([key, pin]) =>
    pin.state === 'pinned' ? [key, pin.shard] : [key, pin.from, pin.to],
  );
  const text = JSON.stringify({ format, shardCount: table.shardCount, pins });
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= largestDocumentBytes) return text;
  throw new OptionError(
    'pins',
    `${sizeBytes} bytes`,
    'do not fit in one document',
    `pin fewer or shorter keys, ${largestDocumentBytes} bytes in all`,
  );
}

/**
 * @throws {RecordCorruptError} if the text is no table of pins.
 * @throws {OptionError} if it is one for another shard count.
 */
export function parsePins(name: string, stored: StoredDocument, shardCount: number): PinTable {
  const document = parseObject(name, stored.text);
  if (document.format !== format) throw corrupt(name, 'its format is unknown');
  if (typeof document.shardCount !== 'number') throw corrupt(name, 'it has no shard count');
  if (document.shardCount !== shardCount) {
    throw new OptionError(
      'shardCount',
      shardCount,
      `differs from that of the pins stored under "${name}" (${String(document.shardCount)})`,
      'use one shard count in the whole group',
    );
  }
  const entries = document.pins;
  if (!Array.isArray(entries)) throw corrupt(name, 'it has no list of pins');
  const pins = entries.map((entry) => parseEntry(name, entry));
  const distinctCount = new Set(pins.map(([key]) => key)).size;
  if (distinctCount < pins.length) throw corrupt(name, 'a key is pinned twice');
  try {
    return new PinTable(shardCount, stored.version, pins);
  } catch (error) {
    throw corrupt(name, error instanceof Error ? error.message : 'a pin is out of range');
  }
}

function parseObject(name: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw corrupt(name, 'it is not JSON');
  }
  if (typeof value !== 'object' || value === null) throw corrupt(name, 'it is not an object');
  return value as Record<string, unknown>;
}

function parseEntry(name: string, entry: unknown): [string, Pin] {
  if (Array.isArray(entry) && typeof entry[0] === 'string') {
    const [key, first, second] = entry;
    const areNumbers = entry.slice(1).every((shard) => typeof shard === 'number');
    if (areNumbers && entry.length === 2) return [key, { state: 'pinned', shard: first }];
    if (areNumbers && entry.length === 3)
      return [key, { state: 'moving', from: first, to: second }];
  }
  throw corrupt(name, 'an entry is no pin');
}

function corrupt(name: string, detail: string): RecordCorruptError {
  return new RecordCorruptError(
    `the document "${name}" is no table of pins: ${detail}. It was left alone; repair or remove it.`,
  );
}

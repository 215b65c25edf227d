import type pg from 'pg';

/** The messages of the protocol that are in it. */
export function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = start + 1 + bytes.readInt32BE(start + 1);
    frames.push(bytes.subarray(start, end));
    start = end;
  }
  return frames;
}

/** What a message consists of, by the letters of the protocol: `PBDES`. */
export function kindsOf(bytes: Buffer): string {
  return framesOf(bytes)
    .map((frame) => String.fromCharCode(frame[0] ?? 0))
    .join('');
}

interface Stream {
  write(bytes: Buffer): unknown;
}

/** The stream of the client of a pool that has only one. */
export async function onlyStream(pool: pg.Pool): Promise<Stream> {
  const client = await pool.connect();
  client.release();
  return Reflect.get(client, 'connection').stream;
}

/** All that a stream is given to send, write by write, until `end`. */
export function overhear(stream: Stream): { readonly writes: Buffer[]; readonly end: () => void } {
  const writes: Buffer[] = [];
  const write = stream.write.bind(stream);
  stream.write = (bytes: Buffer, ...rest: unknown[]) => {
    writes.push(bytes);
    return (write as (...args: unknown[]) => unknown)(bytes, ...rest);
  };
  return { writes, end: () => Reflect.deleteProperty(stream, 'write') };
}

/** ZooKeeper's encoding: big-endian numbers, and texts and bytes with their length before them. */
export class JuteWriter {
  readonly #parts: Buffer[] = [];

  int(value: number): this {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeInt32BE(value);
    return this.#add(bytes);
  }

  long(value: bigint): this {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeBigInt64BE(value);
    return this.#add(bytes);
  }

  bool(value: boolean): this {
    return this.#add(Buffer.from([value ? 1 : 0]));
  }

  buffer(bytes: Buffer): this {
    return this.int(bytes.length).#add(bytes);
  }

  text(text: string): this {
    return this.buffer(Buffer.from(text));
  }

  /** What was written, with its length before it: one packet. */
  packet(): Buffer {
    const length = this.#parts.reduce((sum, part) => sum + part.length, 0);
    const head = Buffer.allocUnsafe(4);
    head.writeInt32BE(length);
    return Buffer.concat([head, ...this.#parts], length + 4);
  }

  #add(bytes: Buffer): this {
    this.#parts.push(bytes);
    return this;
  }
}

/** Reads one packet from front to back; throws a `RangeError` if it is shorter than it says. */
export class JuteReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#bytes.length;
  }

  int(): number {
    this.#offset += 4;
    return this.#bytes.readInt32BE(this.#offset - 4);
  }

  long(): bigint {
    this.#offset += 8;
    return this.#bytes.readBigInt64BE(this.#offset - 8);
  }

  bool(): boolean {
    this.#offset += 1;
    return this.#bytes.readUInt8(this.#offset - 1) !== 0;
  }

  /** A copy; empty where the server sent none. */
  buffer(): Buffer {
    const length = this.int();
    if (length <= 0) return Buffer.alloc(0);
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new RangeError('the packet ends inside a buffer');
    const bytes = Buffer.from(this.#bytes.subarray(this.#offset, end));
    this.#offset = end;
    return bytes;
  }

  text(): string {
    return this.buffer().toString();
  }
}

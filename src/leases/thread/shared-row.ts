/**
 * A row of numbers in memory that two threads share: one writes it, the other reads it whole, never half old and half new.
 *
 * There are two copies and a version. The writer fills the copy that nobody is told to read and then raises the version,
 * whose last bit says which copy counts; a reader that finds the version moved on meanwhile reads again. So a reader never
 * waits for a writer, not even for one that was ended in the middle. Every access is atomic, since plain ones may be
 * executed in another order than they are written in.
 */
export class SharedRow {
  readonly buffer: SharedArrayBuffer;
  readonly #width: number;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #numberWords: Int32Array;

  /** @param buffer of {@link SharedRow.create}, as the other thread received it. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.#width = (this.#words.length - 1) / (2 * wordsPerNumber);
    this.#numbers = new Float64Array(this.#width);
    this.#numberWords = new Int32Array(this.#numbers.buffer);
  }

  static create(values: readonly number[]): SharedRow {
    const wordCount = 1 + 2 * wordsPerNumber * values.length;
    const row = new SharedRow(new SharedArrayBuffer(wordCount * Int32Array.BYTES_PER_ELEMENT));
    row.write(values);
    return row;
  }

  /** How often it was written: unchanged means that its values are. */
  get version(): number {
    return Atomics.load(this.#words, 0);
  }

  /** For one thread alone. */
  write(values: readonly number[]): void {
    this.#numbers.set(values);
    const version = this.version + 1;
    const from = this.#copyAt(version);
    for (const [index, word] of this.#numberWords.entries())
      Atomics.store(this.#words, from + index, word);
    Atomics.store(this.#words, 0, version);
  }

  read(): number[] {
    for (;;) {
      const version = this.version;
      const from = this.#copyAt(version);
      for (const index of this.#numberWords.keys())
        this.#numberWords[index] = Atomics.load(this.#words, from + index);
      if (this.version === version) return [...this.#numbers];
    }
  }

  #copyAt(version: number): number {
    return 1 + (version & 1) * wordsPerNumber * this.#width;
  }
}

const wordsPerNumber = 2;

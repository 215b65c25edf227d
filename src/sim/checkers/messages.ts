import type { Bench, Checker } from './checker.js';

/** A message, as it was appended. */
export interface MessageFacts {
  readonly key: string;
  readonly seq: number;
  readonly id: string;
}

const nameOf = ({ key, seq }: MessageFacts) => `message ${seq} of ${key}`;

/**
 * What was appended reaches the resource in the order of its key, once and without a gap, whoever owned the shard; a
 * message is finished in the log after its effect and never before; and at the end nothing is left.
 */
export class MessagesChecker implements Checker {
  readonly name = 'messages';
  readonly #appended = new Map<string, MessageFacts[]>();
  readonly #applied = new Map<string, number>();
  #bench: Bench | undefined;

  attach(bench: Bench): void {
    this.#bench = bench;
    bench.witness.on('effect', ({ process, values }) => {
      for (const one of values as readonly (MessageFacts | undefined)[])
        if (one !== undefined) this.#apply(one, process);
    });
  }

  /** The log has accepted it. */
  appended(message: MessageFacts): void {
    const { key, seq } = message;
    const all = this.#appended.get(key) ?? [];
    this.#appended.set(key, all);
    all.push(message);
    if (all.length !== seq)
      this.#bench?.violated(`the log numbered its message ${all.length} of ${key} as ${seq}`);
  }

  /** The log has let it go, since its owner says that it is finished. */
  finished(message: MessageFacts): void {
    if ((this.#applied.get(message.key) ?? 0) < message.seq)
      this.#bench?.violated(`${nameOf(message)} was acknowledged before its effect`);
  }

  /** The log let somebody do this whose term is not the one that is installed in it. */
  obeyedStranger(what: string): void {
    this.#bench?.violated(`the log obeyed a stranger: ${what}`);
  }

  atEnd(bench: Bench): void {
    for (const [key, all] of this.#appended) {
      const appliedCount = this.#applied.get(key) ?? 0;
      if (appliedCount < all.length)
        bench.violated(
          `of ${all.length} messages of ${key} only ${appliedCount} were handled by the end`,
        );
    }
  }

  #apply(message: MessageFacts, process: string): void {
    const { key, seq, id } = message;
    const lastSeq = this.#applied.get(key) ?? 0;
    if (seq <= lastSeq)
      this.#bench?.violated(`${process} applied ${nameOf(message)} after number ${lastSeq}`);
    if (seq > lastSeq + 1)
      this.#bench?.violated(`${process} applied ${nameOf(message)} right after number ${lastSeq}`);
    if (this.#appended.get(key)?.[seq - 1]?.id !== id)
      this.#bench?.violated(`${process} applied another message as number ${seq} of ${key}`);
    this.#applied.set(key, seq);
  }
}

/** What a message is known by, wherever it is talked about. */
export interface MessageFacts {
  readonly customer: string;
  /** Within its customer's conversation. */
  readonly seq: number;
  /** Within the run. */
  readonly number: number;
  readonly text: string;
  readonly shard: number;
  /** Under which it is handled. */
  readonly term: number;
}

/** What workers tell while they work. The story is told by it; the verdict is not. */
export type News =
  | {
      readonly type: 'began' | 'written' | 'repeated';
      readonly worker: string;
      readonly message: MessageFacts;
    }
  | {
      readonly type: 'refused';
      readonly worker: string;
      readonly message: MessageFacts;
      /** Those of the fence's error. */
      readonly words: string;
      /** What became of a renewal, if the lease was known to have ended by then. */
      readonly awakening: string | undefined;
    };

import { onAbort } from '../../events/index.js';
import { realRuntime, sleep } from '../../time/index.js';
import type { MessageFacts, News } from './news.js';

type NewsOf<Type extends News['type']> = News & { readonly type: Type };

/** Where the workers' news arrive, and where one waits for a certain one. */
export class Newsroom {
  readonly refused: NewsOf<'refused'>[] = [];
  readonly #listeners = new Set<(news: News) => void>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  readonly tell = (news: News): void => {
    if (news.type === 'refused') this.refused.push(news);
    for (const listener of [...this.#listeners]) listener(news);
  };

  listen(listener: (news: News) => void): void {
    this.#listeners.add(listener);
  }

  /** The next news that fits; `act` is called in the very moment it arrives. `undefined` after `limitMs`. */
  async next<Type extends News['type']>(
    type: Type,
    fits: (message: MessageFacts, worker: string) => boolean,
    limitMs: number,
    act: (news: NewsOf<Type>) => void = () => {},
  ): Promise<NewsOf<Type> | undefined> {
    const heard = new AbortController();
    let found: NewsOf<Type> | undefined;
    const listener = (news: News) => {
      if (news.type !== type || !fits(news.message, news.worker)) return;
      this.#listeners.delete(listener);
      found = news as NewsOf<Type>;
      act(found);
      heard.abort();
    };
    this.#listeners.add(listener);
    const stopListening = onAbort(this.#signal, () => heard.abort());
    if (!this.#signal.aborted) await sleep(realRuntime, limitMs, heard.signal);
    stopListening();
    this.#listeners.delete(listener);
    this.#signal.throwIfAborted();
    return found;
  }
}

import { onAbort } from '../../events/index.js';

/**
 * A signal for one request that follows several, among them one that lives as long as a lease.
 *
 * `AbortSignal.any` would do the same, but on Node 20 leaves something behind on the longest-lived of them with each
 * request. Here `leave` takes everything away again.
 */
export class JoinedSignal {
  readonly #controller = new AbortController();
  readonly #leaving: (() => void)[] = [];

  constructor(signals: readonly (AbortSignal | null | undefined)[]) {
    for (const signal of signals) {
      if (signal === null || signal === undefined) continue;
      const abort = () => this.#controller.abort(signal.reason);
      if (signal.aborted) abort();
      else this.#leaving.push(onAbort(signal, abort));
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Follows nothing from now on. Safe to call again. */
  leave(): void {
    for (const leave of this.#leaving.splice(0)) leave();
  }
}

/** A body that nobody reads to its end, and nobody can read any more. */
const forgotten = new FinalizationRegistry<JoinedSignal>((joined) => joined.leave());

/** The response, whose body goes on following the signals, and lets go of them when it ends. */
export function followedBy(response: Response, joined: JoinedSignal): Response {
  if (response.body === null) {
    joined.leave();
    return response;
  }
  const body = streamOf(response.body, joined);
  forgotten.register(body, joined);
  const { status, statusText, headers, url } = response;
  const followed = new Response(body, { status, statusText, headers });
  // A response that is made by hand has no address of its own.
  Object.defineProperty(followed, 'url', { value: url });
  return followed;
}

function streamOf(source: ReadableStream<Uint8Array>, joined: JoinedSignal): ReadableStream {
  const reader = source.getReader();
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        joined.leave();
        controller.close();
        // A reader with a buffer of its own waits until that is given back.
        controller.byobRequest?.respond(0);
      } catch (error) {
        joined.leave();
        throw error;
      }
    },
    async cancel(reason) {
      joined.leave();
      await reader.cancel(reason);
    },
  });
}

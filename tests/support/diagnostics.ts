import { subscribe, type TracingChannel, unsubscribe } from 'node:diagnostics_channel';

export interface Told {
  readonly channel: string;
  readonly what: string;
  readonly context: Readonly<Record<string, unknown>>;
}

const phases = ['start', 'end', 'asyncStart', 'asyncEnd', 'error'] as const;

/** What the channels tell from now on, each context as it was then; `ended` gets what takes the subscriptions back. */
export function subscribed(
  traced: Readonly<Record<string, TracingChannel<never, never>>> | object,
  ended: (() => unknown)[],
  plain: readonly string[] = [],
): Told[] {
  const told: Told[] = [];
  for (const [channel, tracing] of Object.entries(traced) as [string, TracingChannel][]) {
    for (const what of phases) {
      if (what === 'end' || what === 'asyncStart') continue;
      const note = (context: unknown) =>
        void told.push({ channel, what, context: { ...(context as object) } });
      tracing[what].subscribe(note);
      ended.push(() => tracing[what].unsubscribe(note));
    }
  }
  for (const channel of plain) {
    const note = (context: unknown) =>
      void told.push({ channel, what: 'told', context: { ...(context as object) } });
    subscribe(channel, note);
    ended.push(() => unsubscribe(channel, note));
  }
  return told;
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Span, SpanKind, Tracer } from '@opentelemetry/api';
import { requireKnown, requireMethods } from '../../errors/checks.js';
import {
  type CampaignTrace,
  type HandoffTrace,
  type MessageTrace,
  type TermTrace,
  type TraceChannel,
  traces,
  type Unsubscribe,
} from '../../events/index.js';
import type { MessageHandler } from '../../streams/index.js';
import { loadApi } from './api.js';

export interface OtelSpansOptions {
  /** Who makes the spans. Default: the tracer `tenure` of the global provider. */
  readonly tracer?: Tracer;
}

/** How one kind of span is named and described: at its start, and at its end. */
interface Description<Context> {
  readonly name: (context: Context) => string;
  readonly kind: keyof typeof SpanKind;
  readonly begins: (context: Context) => Attributes;
  readonly ends: (context: Context) => Attributes;
}

type Traced = {
  readonly campaign: Description<CampaignTrace>;
  readonly term: Description<TermTrace>;
  readonly handoff: Description<HandoffTrace>;
  readonly message: Description<MessageTrace>;
};

const descriptions: Traced = {
  campaign: {
    name: () => 'tenure campaign',
    kind: 'INTERNAL',
    begins: ({ name, id }) => ({ 'tenure.name': name, 'tenure.holder.id': id }),
    ends: ({ term }) => (term === undefined ? {} : { 'tenure.term': term }),
  },
  term: {
    name: () => 'tenure term',
    kind: 'INTERNAL',
    begins: ({ name, id, term }) => ({
      'tenure.name': name,
      'tenure.holder.id': id,
      'tenure.term': term,
    }),
    ends: ({ reason }) => (reason === undefined ? {} : { 'tenure.end.reason': reason }),
  },
  handoff: {
    name: () => 'tenure handoff',
    kind: 'CLIENT',
    begins: ({ names, to }) => ({ 'tenure.names': [...names], 'tenure.successors': [...to] }),
    ends: ({ confirmedCount }) =>
      confirmedCount === undefined ? {} : { 'tenure.confirmed.count': confirmedCount },
  },
  message: {
    name: () => 'tenure message',
    kind: 'CONSUMER',
    begins: ({ shard, term, key, seq, id, attempt, appendedAtMs }) => ({
      'tenure.shard': shard,
      'tenure.term': term,
      'tenure.message.key': key,
      'tenure.message.seq': seq,
      'tenure.message.id': id,
      'tenure.message.attempt': attempt,
      'tenure.message.appended_at_ms': appendedAtMs,
    }),
    ends: () => ({}),
  },
};

/** What the channel of messages was told of the message that is being handled here, and the span that was made of it. */
const handledHere = new AsyncLocalStorage<object>();
const messageSpans = new WeakMap<object, Span>();

/**
 * Makes a span of each campaign, term, handoff, and attempt at a message, from the channels of `node:diagnostics_channel` of the
 * same names. Needs the package `@opentelemetry/api`. No payload becomes an attribute; names, keys and ids do.
 *
 * The span of a term lasts as long as the term. For spans that a handler makes to be children of that of its message, wrap it
 * in {@link inMessageSpan}.
 *
 * @returns what ends it; spans that are under way are still ended.
 * @throws {OptionError} for what is no tracer, and without the package.
 */
export function otelSpans(options: OtelSpansOptions = {}): Unsubscribe {
  const known = requireKnown('options', options, { tracer: true });
  const { tracer = loadApi().trace.getTracer('tenure') } = known;
  const remedy = 'pass one of @opentelemetry/api';
  requireMethods('tracer', tracer, ['startSpan'], 'is no tracer', remedy);
  const ends = [
    follow(tracer, traces.campaign, descriptions.campaign),
    follow(tracer, traces.term, descriptions.term),
    follow(tracer, traces.handoff, descriptions.handoff),
    follow(tracer, traces.message, descriptions.message, messageSpans),
    bindHandledHere(),
  ];
  return () => {
    for (const end of ends.splice(0)) end();
  };
}

/** A handler whose own spans are children of that of its message. Without {@link otelSpans} it is what it was. */
export function inMessageSpan<Payload>(handler: MessageHandler<Payload>): MessageHandler<Payload> {
  return (message, handlerContext) => {
    const handled = handledHere.getStore();
    const span = handled === undefined ? undefined : messageSpans.get(handled);
    if (span === undefined) return handler(message, handlerContext);
    const { context, trace } = loadApi();
    const active = trace.setSpan(context.active(), span);
    return context.with(active, () => handler(message, handlerContext));
  };
}

let boundCount = 0;

/** As long as anybody makes spans: a channel with a store is one that somebody listens to. */
function bindHandledHere(): Unsubscribe {
  const { start } = traces.message;
  if (boundCount === 0) start.bindStore(handledHere);
  boundCount += 1;
  return () => {
    boundCount -= 1;
    if (boundCount === 0) start.unbindStore(handledHere);
  };
}

function follow<Context extends object>(
  tracer: Tracer,
  told: TraceChannel<Context>,
  { name, kind, begins, ends }: Description<Context>,
  made: WeakMap<object, Span> = new WeakMap(),
): Unsubscribe {
  const { SpanKind, SpanStatusCode } = loadApi();
  const open = new Set<Context>();
  let isEnding = false;
  const start = (context: Context) => {
    made.set(
      context,
      tracer.startSpan(name(context), { kind: SpanKind[kind], attributes: begins(context) }),
    );
    open.add(context);
  };
  const error = (context: Context & { readonly error: unknown }) => {
    const span = made.get(context);
    // Its message may hold anything.
    span?.setStatus({ code: SpanStatusCode.ERROR });
    span?.setAttribute('error.type', typeOf(context.error));
  };
  const asyncEnd = (context: Context) => {
    if (!open.delete(context)) return;
    const span = made.get(context);
    span?.setAttributes(ends(context));
    span?.end();
    if (isEnding && open.size === 0) leave();
  };
  const leave = () => {
    told.error.unsubscribe(error as never);
    told.asyncEnd.unsubscribe(asyncEnd as never);
  };
  told.start.subscribe(start as never);
  told.error.subscribe(error as never);
  told.asyncEnd.subscribe(asyncEnd as never);
  return () => {
    isEnding = true;
    told.start.unsubscribe(start as never);
    if (open.size === 0) leave();
  };
}

function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

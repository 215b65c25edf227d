export type { MessageReference, PumpEvents } from './events.js';
export type { DeliveredMessage, HandlerContext, MessageHandler } from './message.js';
export type { StreamWorkerOptions } from './options.js';
export { type ShardActivity, StreamWorker, type StreamWorkerEvents } from './worker.js';

export { onAbort } from './aborts.js';
export { Emitter, type EventSource, type Unsubscribe } from './emitter.js';
export { isolated } from './isolated.js';
export { type FenceRefusal, notice, type RepeatedEffect } from './notices.js';
export {
  type CampaignTrace,
  type HandoffTrace,
  type MessageTrace,
  type TermTrace,
  type TraceChannel,
  traced,
  traces,
} from './traces.js';

export { onAbort } from './aborts.js';
export { Emitter, type EventSource, type Unsubscribe } from './emitter.js';
export { isolated } from './isolated.js';

export { Emitter, type EventSource, type Unsubscribe } from './emitter.js';

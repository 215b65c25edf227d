export { type EventName, eventCatalogue, type Level } from './event-catalogue.js';
export type { EventLogger, LoggedError } from './event-log.js';
export { type Loggable, logEvents } from './log-events.js';

import { TenureError } from '../../errors/index.js';
import { isolated } from '../../events/index.js';
import { type EventFields, type EventName, eventCatalogue, type Level } from './event-catalogue.js';

/** What pino and most others have: an object first, then a text. */
export type EventLogger = Readonly<Record<Level, (object: object, message: string) => unknown>>;

/** Writes events by their names. A logger that throws, or is async and rejects, harms nobody. */
export class EventLog {
  readonly #logger: EventLogger;
  readonly #writers = new Map<EventName, (fields: object) => void>();

  constructor(logger: EventLogger) {
    this.#logger = logger;
  }

  write<Name extends EventName>(name: Name, fields: EventFields<Name>): void {
    const write = this.#writers.get(name) ?? this.#writerOf(name);
    write(fields);
  }

  #writerOf(name: EventName): (fields: object) => void {
    const { level, message } = eventCatalogue[name];
    const write = isolated(name, (fields: object) =>
      this.#logger[level]({ event: name, ...fields }, message),
    );
    this.#writers.set(name, write);
    return write;
  }
}

export interface LoggedError {
  readonly name: string;
  readonly code?: string;
  readonly message?: string;
}

/**
 * An error as it may be logged. The messages of our own never hold a secret or a payload; of others nobody knows, so their name
 * and code have to do.
 */
export function loggedError(error: unknown): LoggedError {
  if (error instanceof TenureError) {
    const { name, code, message } = error;
    return { name, code, message };
  }
  if (!(error instanceof Error)) return { name: typeof error };
  const { name } = error;
  return 'code' in error && typeof error.code === 'string' ? { name, code: error.code } : { name };
}

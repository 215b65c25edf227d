import {
  type Answer,
  type Lines,
  type Operation,
  PostgresOperations,
} from '../../drivers/postgres/index.js';
import type { Runtime } from '../../time/index.js';
import { channelOf } from './channel.js';
import { lateState } from './schema/index.js';

interface OperationParts {
  readonly timeoutMs: number;
  readonly isRead?: boolean;
  readonly isUrgent?: boolean;
}

/** The functions of one schema, called for one namespace. */
export class LeaseStore {
  readonly lines: Lines;
  readonly namespace: string;
  readonly channel: string;
  readonly #quotedSchema: string;
  readonly #operations: PostgresOperations;

  constructor(
    lines: Lines,
    runtime: Runtime,
    where: { readonly schema: string; readonly quotedSchema: string; readonly namespace: string },
  ) {
    this.lines = lines;
    this.namespace = where.namespace;
    this.channel = channelOf(where.schema, where.namespace);
    this.#quotedSchema = where.quotedSchema;
    this.#operations = new PostgresOperations(lines, runtime, lateState);
  }

  /** Calls a function that changes nothing: with the namespace, then `values`. */
  read<Result extends Answer>(
    name: string,
    values: readonly unknown[],
    timeoutMs: number,
  ): Promise<Result> {
    return this.#run(name, () => [this.namespace, ...values], { timeoutMs, isRead: true });
  }

  /** Calls a function with the namespace, the server's time after which it must do nothing, then `values`. */
  write<Result extends Answer>(
    name: string,
    values: readonly unknown[],
    timeoutMs: number,
    isUrgent = false,
  ): Promise<Result> {
    const all = (notAfterMs: number) => [this.namespace, notAfterMs, ...values];
    return this.#run(name, all, { timeoutMs, isUrgent });
  }

  #run<Result extends Answer>(
    name: string,
    values: Operation['values'],
    parts: OperationParts,
  ): Promise<Result> {
    const count = values(0).length;
    const places = Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
    const text = `SELECT ${this.#quotedSchema}.${name}(${places})::text AS answer`;
    return this.#operations.run({ what: name, text, values, ...parts });
  }
}

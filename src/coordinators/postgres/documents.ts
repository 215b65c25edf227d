import type { Answer } from '../../drivers/postgres/index.js';
import type { CallOptions, StoredDocument, WriteDocumentResult } from '../contract.js';
import { validateName } from '../names.js';
import { checkDocument, checkTimeout } from '../requests.js';
import type { LeaseStore } from './store.js';

type Stored = readonly [version: number, base64: string] | null;

/** Small versioned texts. They may hold any character, which a column of text may not: they are kept as bytes. */
export class PostgresDocuments {
  readonly #store: LeaseStore;

  constructor(store: LeaseStore) {
    this.#store = store;
  }

  async read(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    const values = [validateName(name)];
    const answer = await this.#store.read<Answer & { readonly answers: Stored }>(
      'read_document',
      values,
      checkTimeout(call),
    );
    return documentOf(answer.answers);
  }

  async write(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    validateName(name);
    checkDocument(text, expectedVersion);
    const values = [name, Buffer.from(text), expectedVersion];
    const timeoutMs = checkTimeout(call);
    const answer = await this.#store.write<WriteAnswer>('write_document', values, timeoutMs);
    return answer.conflict === true
      ? { outcome: 'conflict', current: documentOf(answer.answers) }
      : { outcome: 'written', version: answer.answers };
  }
}

type WriteAnswer = Answer &
  (
    | { readonly conflict?: false; readonly answers: number }
    | { readonly conflict: true; readonly answers: Stored }
  );

function documentOf(stored: Stored): StoredDocument | undefined {
  if (stored === null) return undefined;
  return { version: stored[0], text: Buffer.from(stored[1], 'base64').toString() };
}

import type { CallOptions, StoredDocument, WriteDocumentResult } from '../contract.js';
import { validateName } from '../names.js';
import { checkDocument, checkTimeout } from '../requests.js';
import { answerDocument, answerWrite, badDocument } from './answers.js';
import type { RedisKeys } from './keys.js';
import { readDocumentScript, writeDocumentScript } from './scripts/index.js';
import type { DecidingServer } from './server.js';
import type { RedisWrites } from './writes.js';

/** Small versioned texts beside the leases. */
export class RedisDocuments {
  readonly #server: DecidingServer;
  readonly #writes: RedisWrites;
  readonly #keys: RedisKeys;

  constructor(server: DecidingServer, writes: RedisWrites, keys: RedisKeys) {
    this.#server = server;
    this.#writes = writes;
    this.#keys = keys;
  }

  async read(name: string, call: CallOptions): Promise<StoredDocument | undefined> {
    const keys = [this.#keys.document(validateName(name))];
    const timeoutMs = checkTimeout(call);
    const reply = await this.#server.run(readDocumentScript, keys, [], timeoutMs);
    if (reply === 'corrupt') throw badDocument(name, this.#keys.document(name));
    return answerDocument(reply);
  }

  async write(
    name: string,
    text: string,
    expectedVersion: number,
    call: CallOptions,
  ): Promise<WriteDocumentResult> {
    const keys = [this.#keys.document(validateName(name))];
    checkDocument(text, expectedVersion);
    const args = [expectedVersion, text];
    const timeoutMs = checkTimeout(call);
    const reply = await this.#writes.run(writeDocumentScript, keys, args, timeoutMs);
    return answerWrite(name, this.#keys.document(name), reply);
  }
}

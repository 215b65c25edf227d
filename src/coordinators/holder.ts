import { createHash } from 'node:crypto';
import { OptionError } from '../errors/index.js';
import type { Runtime } from '../time/index.js';

const holderIdPattern = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/;
const noncePattern = /^[0-9a-f]{32}$/;

/** @throws {OptionError} unless `id` is 1 to 128 of `A-Z a-z 0-9 . _ @ -`, beginning with a letter or digit. */
export function validateHolderId(id: string, option: string): string {
  if (typeof id === 'string' && holderIdPattern.test(id)) return id;
  throw new OptionError(
    option,
    id,
    'is not a holder id',
    'use 1 to 128 letters, digits or . _ @ - and begin with a letter or digit',
  );
}

/**
 * Who holds a lease: a stable id plus a random nonce, new for every incarnation of that id.
 *
 * Always compared whole: two processes started with one id by mistake are two holders, and so is a process and its
 * own restart. The nonce is a capability (whoever knows it can renew or release), so it never shows in logs: printing,
 * inspecting or serialising a holder yields its id alone.
 */
export class Holder {
  readonly id: string;
  readonly #nonce: string;
  #digest: string | undefined;

  /** @throws {OptionError} if `id` is not 1 to 128 of `A-Z a-z 0-9 . _ @ -`, or `nonce` not 32 lower-case hex digits. */
  constructor(id: string, nonce: string) {
    validateHolderId(id, 'id');
    if (!noncePattern.test(nonce)) {
      throw new OptionError(
        'nonce',
        'hidden',
        'is not a nonce',
        'use 32 lower-case hexadecimal digits',
      );
    }
    this.id = id;
    this.#nonce = nonce;
  }

  /** A new incarnation of `id`. */
  static create(id: string, runtime: Runtime): Holder {
    return new Holder(id, runtime.randomHex(16));
  }

  /** A holder from its {@link wire} form, or `undefined` if the text is not one. */
  static parse(wire: string): Holder | undefined {
    const separator = wire.indexOf(':');
    const id = wire.slice(0, separator);
    const nonce = wire.slice(separator + 1);
    if (separator < 0 || !holderIdPattern.test(id) || !noncePattern.test(nonce)) return undefined;
    return new Holder(id, nonce);
  }

  /** `id:nonce`, for stores alone. Neither part can hold a colon, so equal texts mean equal holders. */
  get wire(): string {
    return `${this.id}:${this.#nonce}`;
  }

  /** 32 hexadecimal digits that stand for this holder at a fence without giving away the nonce (SHA-256, shortened). */
  get digest(): string {
    this.#digest ??= createHash('sha256').update(this.wire).digest('hex').slice(0, 32);
    return this.#digest;
  }

  equals(other: Holder): boolean {
    return this === other || (this.id === other.id && this.wire === other.wire);
  }

  toString(): string {
    return this.id;
  }

  toJSON(): string {
    return this.id;
  }
}

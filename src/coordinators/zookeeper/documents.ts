import {
  errorCode,
  isZooKeeperError,
  type NodeOperation,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import type { StoredDocument, WriteDocumentResult } from '../contract.js';
import type { Call } from './call.js';
import { nodeOrNothing } from './loading.js';
import type { ZooKeeperPaths } from './paths.js';
import { type Sessions, unless } from './sessions.js';
import { parseObject } from './state.js';

/** A node holds less than a megabyte with the servers' usual limit, which counts the whole packet. */
const partBytes = 500_000;

interface Head {
  readonly tenure: 1;
  readonly version: number;
  /** The paths' last parts, in their order; the text is what they hold together. */
  readonly parts: readonly string[];
}

interface Found {
  readonly head: Head | undefined;
  readonly nodeVersion: number | undefined;
}

/**
 * Documents: a head that says which parts make up the text, and the parts as nodes below it. New parts are written
 * first, under names of their own, and count only once the head tells of them, in one conditional write.
 */
export class Documents {
  readonly #paths: ZooKeeperPaths;
  readonly #sessions: Sessions;
  readonly #runtime: Runtime;

  constructor(paths: ZooKeeperPaths, sessions: Sessions, runtime: Runtime) {
    this.#paths = paths;
    this.#sessions = sessions;
    this.#runtime = runtime;
  }

  async read(call: Call, name: string): Promise<StoredDocument | undefined> {
    const control = await call.connection(this.#sessions.control);
    await call.ask(control, () => control.sync(this.#paths.root));
    return this.#read(call, control, name);
  }

  async write(
    call: Call,
    name: string,
    text: string,
    expectedVersion: number,
  ): Promise<WriteDocumentResult> {
    const control = await call.connection(this.#sessions.control);
    await call.ask(control, () => control.sync(this.#paths.root));
    const { head, nodeVersion } = await this.#head(call, control, name);
    if ((head?.version ?? 0) !== expectedVersion)
      return { outcome: 'conflict', current: await this.#read(call, control, name) };
    const path = this.#paths.document(name);
    if (nodeVersion === undefined)
      await call
        .write(control, () => control.create({ path, data: Buffer.alloc(0) }))
        .catch(unless(errorCode.nodeExists));
    const parts = await this.#writeParts(call, control, path, text);
    const version = expectedVersion + 1;
    const next: Head = { tenure: 1, version, parts };
    const operations: NodeOperation[] = [
      { kind: 'set', path: this.#sessions.guardOf(control), data: Buffer.alloc(0) },
      { kind: 'set', path, data: Buffer.from(JSON.stringify(next)), version: nodeVersion ?? 0 },
    ];
    try {
      await call.write(control, () => control.multi(operations));
    } catch (error) {
      if (!isZooKeeperError(error, errorCode.badVersion, errorCode.noNode)) throw error;
      await this.#remove(control, path, parts);
      return { outcome: 'conflict', current: await this.#read(call, control, name) };
    }
    // Also what a writer left that ended between its parts and its head.
    await this.#sweep(call, control, path, parts);
    return { outcome: 'written', version };
  }

  async #read(
    call: Call,
    control: ZooKeeperConnection,
    name: string,
  ): Promise<StoredDocument | undefined> {
    const path = this.#paths.document(name);
    for (;;) {
      const { head } = await this.#head(call, control, name);
      if (head === undefined) return undefined;
      const parts = await Promise.all(
        head.parts.map((part) => nodeOrNothing(call, control, `${path}/${part}`)),
      );
      // A part that is gone was replaced meanwhile.
      if (parts.some((part) => part === undefined)) continue;
      const text = Buffer.concat(parts.map((part) => part?.data ?? Buffer.alloc(0))).toString();
      return { version: head.version, text };
    }
  }

  async #head(call: Call, control: ZooKeeperConnection, name: string): Promise<Found> {
    const path = this.#paths.document(name);
    const node = await nodeOrNothing(call, control, path);
    if (node === undefined) return { head: undefined, nodeVersion: undefined };
    const nodeVersion = node.stat.version;
    if (node.data.length === 0) return { head: undefined, nodeVersion };
    const head = parseObject(node.data.toString()) as Partial<Head> | undefined;
    if (head?.tenure === 1 && typeof head.version === 'number' && Array.isArray(head.parts))
      return { head: head as Head, nodeVersion };
    throw new RecordCorruptError(
      `the node ${path} holds no document of tenure's. Somebody else wrote it; remove it there.`,
    );
  }

  async #writeParts(
    call: Call,
    control: ZooKeeperConnection,
    path: string,
    text: string,
  ): Promise<string[]> {
    const bytes = Buffer.from(text);
    const nonce = this.#runtime.randomHex(16);
    const count = Math.ceil(bytes.length / partBytes);
    const parts = Array.from({ length: count }, (_, index) => `${nonce}-${index}`);
    await Promise.all(
      parts.map((part, index) => {
        const data = bytes.subarray(index * partBytes, (index + 1) * partBytes);
        return call.write(control, () => control.create({ path: `${path}/${part}`, data }));
      }),
    );
    return parts;
  }

  async #sweep(
    call: Call,
    control: ZooKeeperConnection,
    path: string,
    parts: readonly string[],
  ): Promise<void> {
    const children = await call.ask(control, () => control.getChildren(path));
    const stale = children.filter((child) => !parts.includes(child));
    void this.#remove(control, path, stale);
  }

  /** Nobody waits for it, and whoever writes next makes up for what it missed. */
  async #remove(
    control: ZooKeeperConnection,
    path: string,
    parts: readonly string[],
  ): Promise<void> {
    await Promise.allSettled(parts.map((part) => control.delete(`${path}/${part}`)));
  }
}

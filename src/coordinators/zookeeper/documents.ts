import {
  ConnectionLostError,
  errorCode,
  isZooKeeperError,
  type NodeOperation,
  type ZooKeeperConnection,
  type ZooKeeperError,
} from '../../drivers/zookeeper/index.js';
import { RecordCorruptError } from '../../errors/index.js';
import type { Runtime } from '../../time/index.js';
import type { StoredDocument, WriteDocumentResult } from '../contract.js';
import type { Call } from './call.js';
import { nodeOrNothing } from './nodes.js';
import type { ZooKeeperPaths } from './paths.js';
import { type Sessions, unless } from './sessions.js';
import { parseObject } from './state.js';

/** A node holds less than a megabyte with the servers' usual limit, which counts the whole packet. */
const partBytes = 500_000;
/** No write takes so long: a part that is older, and that no head tells of, was left by a writer that ended. */
const abandonedMs = 60 * 60 * 1_000;
const empty = Buffer.alloc(0);
const partPattern = /^[0-9a-f]{32}-\d{1,6}$/;

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
    const path = this.#paths.document(name);
    const version = expectedVersion + 1;
    for (;;) {
      const found = await this.#head(call, control, name);
      if ((found.head?.version ?? 0) !== expectedVersion)
        return { outcome: 'conflict', current: await this.#read(call, control, name) };
      const parts = await this.#writeParts(call, control, path, text, found);
      const nowMs = await this.#commit(call, control, path, found, { tenure: 1, version, parts });
      if (nowMs !== undefined) {
        void this.#cleanUp(control, path, found.head?.parts ?? [], parts, nowMs).catch(() => {});
        return { outcome: 'written', version };
      }
      void this.#remove(control, path, parts);
    }
  }

  /**
   * The one write that counts: the head, if nobody has written it since, and each of its parts is there.
   *
   * @returns the leader's clock then, or nothing if it was not as it was read.
   */
  async #commit(
    call: Call,
    control: ZooKeeperConnection,
    path: string,
    { nodeVersion = 0 }: Found,
    head: Head,
  ): Promise<number | undefined> {
    const operations: NodeOperation[] = [
      { kind: 'set', path: this.#sessions.guardOf(control), data: empty },
      { kind: 'set', path, data: Buffer.from(JSON.stringify(head)), version: nodeVersion },
      ...head.parts.map((part) => ({ kind: 'check', path: `${path}/${part}` }) as const),
    ];
    try {
      const [guarded] = await call.write(control, () => control.multi(operations));
      return guarded?.stat?.modifiedAtMs ?? 0;
    } catch (error) {
      if (!isZooKeeperError(error, errorCode.badVersion, errorCode.noNode)) throw error;
      if ((error as ZooKeeperError).failedIndex !== 0) return undefined;
      control.destroy('its session has ended');
      throw new ConnectionLostError('the session of the control connection has ended');
    }
  }

  async #read(
    call: Call,
    control: ZooKeeperConnection,
    name: string,
  ): Promise<StoredDocument | undefined> {
    const path = this.#paths.document(name);
    let lackingVersion: number | undefined;
    for (;;) {
      const { head, nodeVersion } = await this.#head(call, control, name);
      if (head === undefined) return undefined;
      // A part goes only after the head that told of it has been replaced, and this connection saw that it is gone.
      if (nodeVersion === lackingVersion) throw damaged(path);
      const parts = await Promise.all(
        head.parts.map((part) => nodeOrNothing(call, control, `${path}/${part}`)),
      );
      if (parts.every((part) => part !== undefined)) {
        const text = Buffer.concat(parts.map(({ data }) => data)).toString();
        return { version: head.version, text };
      }
      lackingVersion = nodeVersion;
    }
  }

  async #head(call: Call, control: ZooKeeperConnection, name: string): Promise<Found> {
    const path = this.#paths.document(name);
    const node = await nodeOrNothing(call, control, path);
    if (node === undefined) return { head: undefined, nodeVersion: undefined };
    const nodeVersion = node.stat.version;
    if (node.data.length === 0) return { head: undefined, nodeVersion };
    const head = parseObject(node.data.toString()) as Partial<Head> | undefined;
    if (head !== undefined && isHead(head)) return { head, nodeVersion };
    throw new RecordCorruptError(
      `the node ${path} holds no document of tenure's. Somebody else wrote it; remove it there.`,
    );
  }

  /** They count for nothing until a head tells of them: whether they were written is nothing that anybody has to know. */
  async #writeParts(
    call: Call,
    control: ZooKeeperConnection,
    path: string,
    text: string,
    { nodeVersion }: Found,
  ): Promise<string[]> {
    if (nodeVersion === undefined)
      await call
        .ask(control, () => control.create({ path, data: empty }))
        .catch(unless(errorCode.nodeExists));
    const bytes = Buffer.from(text);
    const nonce = this.#runtime.randomHex(16);
    const count = Math.ceil(bytes.length / partBytes);
    const parts = Array.from({ length: count }, (_, index) => `${nonce}-${index}`);
    await Promise.all(
      parts.map((part, index) => {
        const data = bytes.subarray(index * partBytes, (index + 1) * partBytes);
        return call.ask(control, () => control.create({ path: `${path}/${part}`, data }));
      }),
    );
    return parts;
  }

  /**
   * Removes the parts that were replaced, and what a writer left that ended between its parts and its head. Other parts
   * may be those of a head that is being written at this moment: they stay. Nobody waits for it, and whoever writes next
   * makes up for what it missed.
   */
  async #cleanUp(
    control: ZooKeeperConnection,
    path: string,
    replaced: readonly string[],
    own: readonly string[],
    nowMs: number,
  ): Promise<void> {
    const removed = this.#remove(control, path, replaced);
    const children = await control.getChildren(path);
    const others = children.filter((child) => !replaced.includes(child) && !own.includes(child));
    const left = await Promise.all(
      others.map(async (child) => {
        const { stat } = await control.getData(`${path}/${child}`);
        return nowMs - stat.createdAtMs > abandonedMs ? [child] : [];
      }),
    );
    await Promise.all([removed, this.#remove(control, path, left.flat())]);
  }

  async #remove(
    control: ZooKeeperConnection,
    path: string,
    parts: readonly string[],
  ): Promise<void> {
    await Promise.allSettled(parts.map((part) => control.delete(`${path}/${part}`)));
  }
}

/** The parts are parts of paths. */
function isHead(head: Partial<Head>): head is Head {
  const { tenure, version, parts } = head;
  if (tenure !== 1 || !Number.isSafeInteger(version) || (version ?? 0) < 1) return false;
  const isPart = (part: unknown) => typeof part === 'string' && partPattern.test(part);
  return Array.isArray(parts) && parts.every(isPart);
}

function damaged(path: string): RecordCorruptError {
  return new RecordCorruptError(
    `a part of the document in the node ${path} is gone. Somebody else removed it; remove the node, and write the document anew.`,
  );
}

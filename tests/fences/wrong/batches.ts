import { OptionError } from '../../../src/errors/index.js';
import { Batch, runBatches } from '../../../src/fences/batch.js';
import type { BatchFenceSubject } from '../../../src/fences/conformance/index.js';
import type { Fence, FencePromises, FencingToken } from '../../../src/fences/index.js';
import {
  type MemoryFence,
  MemoryResource,
  type MemoryTransaction,
  memoryFence,
} from '../../../src/fences/memory/index.js';
import { type Effect, validateEffect, validateToken } from '../../../src/fences/rule.js';

/** Writes in memory that are executed together. */
class MemoryBatch extends Batch {
  protected readonly resource = 'memory';
  readonly writes: [string, string][] = [];

  write(key: string, value: string): void {
    this.orSpoil(() => this.writes.push([key, value]));
  }

  get recorded(): readonly Effect[] {
    return this.effects;
  }
}

/** A fence for batches that is right, in pieces that can be replaced by wrong ones. */
export class BatchTemplate implements Fence<MemoryBatch> {
  readonly promises: FencePromises = {
    resource: 'template',
    atomicWithEffect: true,
    durability: 'process',
    writersOfOneTerm: 'concurrent',
  };
  protected readonly inner: MemoryFence;
  protected readonly batches = new WeakSet<MemoryBatch>();

  constructor(protected readonly resource: MemoryResource) {
    this.inner = memoryFence(resource);
  }

  async claim(token: FencingToken): Promise<void> {
    await this.inner.claim(token);
  }

  async transaction<Result>(
    token: FencingToken,
    work: (batch: MemoryBatch) => Promise<Result>,
  ): Promise<Result> {
    await this.inner.installedTerm('open');
    validateToken('memory', token);
    const open = async () => this.open();
    return await runBatches('the batch', open, work, (batch) => this.execute(token, batch));
  }

  protected open(): MemoryBatch {
    const batch = new MemoryBatch();
    this.batches.add(batch);
    return batch;
  }

  /** One atomic step. */
  protected async execute(token: FencingToken, batch: MemoryBatch): Promise<boolean> {
    const changed = new Error('changed');
    const step = this.inner.transaction(token, async (own) => {
      for (const { scope, key, seq, id } of batch.recorded)
        if (!(await this.inner.recordOnce(own, scope, key, seq, id))) throw changed;
      this.write(own, batch);
    });
    return await step.then(
      () => true,
      (error: unknown) => {
        const { name, storeCode } = error as { name?: string; storeCode?: string };
        if (error === changed || storeCode === 'CONFLICT' || name === 'SequenceReusedError')
          return false;
        throw error;
      },
    );
  }

  protected write(own: MemoryTransaction, batch: MemoryBatch): void {
    for (const [key, value] of batch.writes) own.set(key, value);
  }

  async recordOnce(
    batch: MemoryBatch,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    this.assertOurs(batch);
    const check = () => {
      validateEffect(scope, key, seq, id);
      return { scope, key, seq, id };
    };
    return await batch.recordOnce(check, async () => {
      await this.inner.installedTerm('open');
      return await this.recordedId({ scope, key, seq, id });
    });
  }

  protected assertOurs(batch: MemoryBatch): void {
    if (!this.batches.has(batch)) throw new OptionError('batch', '', 'is of another fence', 'no');
  }

  protected async recordedId({ scope, key, seq }: Effect): Promise<string | undefined> {
    return await this.resource.transaction(async (own) =>
      own.table<string>('effects').peek(JSON.stringify([scope, key, seq])),
    );
  }

  async installedTerm(name: string): Promise<number | undefined> {
    return await this.inner.installedTerm(name);
  }

  async close(): Promise<void> {
    await this.inner.close();
  }
}

class WritesAtOnce extends BatchTemplate {
  protected override open(): MemoryBatch {
    const batch = super.open();
    const { resource } = this;
    const queue = batch.write.bind(batch);
    batch.write = (key, value) => {
      queue(key, value);
      void resource.transaction(async (own) => own.set(key, value));
    };
    return batch;
  }
}

class WritesBackwards extends BatchTemplate {
  protected override write(own: MemoryTransaction, batch: MemoryBatch): void {
    for (const [key, value] of [...batch.writes].reverse()) own.set(key, value);
  }
}

class RecordsBeforeTheCheck extends BatchTemplate {
  protected override async execute(token: FencingToken, batch: MemoryBatch): Promise<boolean> {
    await this.resource.transaction(async (own) => {
      for (const { scope, key, seq, id } of batch.recorded)
        own.table<string>('effects').set(JSON.stringify([scope, key, seq]), id);
    });
    await this.inner.transaction(token, async (own) => this.write(own, batch));
    return true;
  }
}

class KeepsTheQueue extends BatchTemplate {
  #first: MemoryBatch | undefined;

  protected override write(own: MemoryTransaction, batch: MemoryBatch): void {
    if (this.#first !== undefined) super.write(own, this.#first);
    super.write(own, batch);
  }

  protected override async execute(token: FencingToken, batch: MemoryBatch): Promise<boolean> {
    const isExecuted = await super.execute(token, batch);
    if (!isExecuted) this.#first = batch;
    return isExecuted;
  }
}

class NeverEnds extends BatchTemplate {
  protected override open(): MemoryBatch {
    const batch = super.open();
    batch.end = () => {};
    return batch;
  }
}

class ForgivesFailures extends BatchTemplate {
  protected override open(): MemoryBatch {
    const batch = super.open();
    batch.throwIfSpoiled = () => {};
    return batch;
  }
}

class TakesAnyBatch extends BatchTemplate {
  protected override assertOurs(): void {}
}

/** Each with the case that has to reject it. */
export const wrongBatchFences = [
  ['writes at once', WritesAtOnce, 'batch-shows-nothing-before-its-end'],
  ['writes backwards', WritesBackwards, 'batch-shows-nothing-before-its-end'],
  ['records before it checks', RecordsBeforeTheCheck, 'batch-refused-whole'],
  ['executes what an abandoned run queued', KeepsTheQueue, 'batch-runs-anew'],
  ['never ends a batch', NeverEnds, 'batch-ends-with-its-work'],
  ['forgives failures', ForgivesFailures, 'batch-failure-cannot-be-swallowed'],
  ['takes any batch', TakesAnyBatch, 'batch-of-another-fence-refused'],
] as const;

export function batchSubject(
  kind: new (resource: MemoryResource) => BatchTemplate,
): BatchFenceSubject<MemoryBatch> {
  const resource = new MemoryResource();
  const fence = new kind(resource);
  const other = new kind(resource);
  return {
    fence,
    other,
    write: async (batch, key, value) => batch.write(key, value),
    read: async (key) => resource.read(key) as string | undefined,
    close: async () => {
      await Promise.all([fence.close(), other.close()]);
    },
  };
}

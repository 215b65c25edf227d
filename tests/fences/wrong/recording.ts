import type { MemoryTransaction } from '../../../src/fences/memory/index.js';
import { TemplateFence, type WrongFence, wrong } from './template.js';

class RecordsOnTheSide extends TemplateFence {
  override async recordOnce(
    _transaction: MemoryTransaction,
    scope: string,
    key: string,
    seq: number,
  ): Promise<boolean> {
    // Committed at once, so a rolled back effect counts as done.
    return await this.resource.transaction((own) => super.recordOnce(own, scope, key, seq));
  }
}

class RecordsPerKeyOnly extends TemplateFence {
  protected override effectId(scope: string, key: string): string {
    return JSON.stringify([scope, key]);
  }
}

class RecordsWithoutLooking extends TemplateFence {
  override async recordOnce(
    transaction: MemoryTransaction,
    scope: string,
    key: string,
    seq: number,
  ): Promise<boolean> {
    const effects = transaction.table<true>('effects');
    const id = this.effectId(scope, key, seq);
    const isNew = effects.peek(id) === undefined;
    effects.set(id, true);
    return isNew;
  }
}

/** Mistakes in recording effects. */
export const recording: readonly WrongFence[] = [
  wrong('records on the side', RecordsOnTheSide, 'record-rolls-back'),
  wrong('records per key only', RecordsPerKeyOnly, 'record-once'),
  wrong(
    'records without looking again',
    RecordsWithoutLooking,
    'record-raced',
    'bad-effects-refused',
  ),
];

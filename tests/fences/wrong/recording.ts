import type { MemoryTransaction } from '../../../src/fences/memory/index.js';
import { TemplateFence, type WrongFence, wrong } from './template.js';

class RecordsOnTheSide extends TemplateFence {
  override async recordOnce(
    _transaction: MemoryTransaction,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    // Committed at once, so a rolled back effect counts as done.
    return await this.resource.transaction((own) => super.recordOnce(own, scope, key, seq, id));
  }
}

class RecordsPerKeyOnly extends TemplateFence {
  protected override effectRow(scope: string, key: string): string {
    return JSON.stringify([scope, key]);
  }
}

class RecordsWithoutLooking extends TemplateFence {
  override async recordOnce(
    transaction: MemoryTransaction,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    const effects = transaction.table<string>('effects');
    const row = this.effectRow(scope, key, seq);
    const isNew = effects.peek(row) === undefined;
    effects.set(row, id);
    return isNew;
  }
}

/** Takes a log that numbers anew for a redelivery: every message that meets a recorded number is lost. */
class BelievesTheNumber extends TemplateFence {
  protected override judgeRepetition(): boolean {
    return false;
  }
}

/** Takes the answer that a number was used twice for a failure. */
class SpoilsByAnAnswer extends TemplateFence {
  override async recordOnce(
    transaction: MemoryTransaction,
    scope: string,
    key: string,
    seq: number,
    id: string,
  ): Promise<boolean> {
    try {
      return await super.recordOnce(transaction, scope, key, seq, id);
    } catch (error) {
      return this.orSpoil(transaction, () => {
        throw error;
      });
    }
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
    'record-raced-by-another-message',
    'bad-effects-refused',
  ),
  wrong('spoils by an answer', SpoilsByAnAnswer, 'reused-number-may-be-caught'),
  wrong('believes the number', BelievesTheNumber, 'record-of-another-message-refused'),
];

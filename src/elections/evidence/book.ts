import type { CallOptions, Coordinator } from '../../coordinators/index.js';
import { StoreRefusedError } from '../../errors/index.js';
import {
  evidenceDocumentOf,
  formatEvidence,
  mergeEvidence,
  parseEvidenceDocument,
} from './document.js';
import type { Evidence } from './evidence.js';

/** So many writers in a row may be faster than us. */
const conflictLimit = 10;

type Documents = Pick<Coordinator, 'readDocument' | 'writeDocument'>;

/**
 * What is kept of a name, oldest first.
 *
 * @throws {RecordCorruptError} if something else stands there; and the errors of the store.
 */
export async function readEvidence(
  coordinator: Documents,
  name: string,
  call: CallOptions,
): Promise<Evidence[]> {
  const document = evidenceDocumentOf(name);
  const stored = await coordinator.readDocument(document, call);
  if (stored === undefined) return [];
  return parseEvidenceDocument(document, stored.text).filter((entry) => entry.name === name);
}

/**
 * Adds to what is kept in one document, by compare-and-set. Whoever gives it up aborts `signal`: nothing more is sent then.
 *
 * @throws as {@link readEvidence}. {@link StoreRefusedError} if others were faster, time and again.
 */
export async function addEvidence(
  coordinator: Documents,
  document: string,
  added: readonly Evidence[],
  nowMs: number,
  call: CallOptions,
  signal?: AbortSignal,
): Promise<void> {
  let stored = await coordinator.readDocument(document, call);
  for (let conflicts = 0; conflicts < conflictLimit; conflicts++) {
    if (signal?.aborted) return;
    const present = stored === undefined ? [] : parseEvidenceDocument(document, stored.text);
    const text = formatEvidence(mergeEvidence(present, added, nowMs));
    const expected = stored?.version ?? 0;
    const result = await coordinator.writeDocument(document, text, expected, call);
    if (result.outcome === 'written') return;
    stored = result.current;
  }
  const words = `"${document}" was written by others ${conflictLimit} times in a row. Write it later.`;
  throw new StoreRefusedError('CONFLICT', words);
}

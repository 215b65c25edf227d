import { Holder } from '../../src/coordinators/index.js';
import { RecordCorruptError, StaleTermError, TenureError } from '../../src/errors/index.js';
import type { Fence, FencingToken } from '../../src/fences/index.js';
import { realRuntime } from '../../src/time/index.js';

/** What somebody may make of the record in which a fence keeps the term of a name. */
export interface Meddling {
  readonly what: string;
  /** `term`: nobody can tell what is installed. `holder`: the term still stands. `table`: not even the question fits. */
  readonly spoils: 'term' | 'holder' | 'table';
  readonly spoil: (name: string) => Promise<unknown> | unknown;
}

export interface GuardedPlace<Transaction> {
  readonly fence: Fence<Transaction>;
  readonly meddlings: readonly Meddling[];
  write(transaction: Transaction, key: string, value: string): Promise<unknown> | unknown;
  read(key: string): Promise<string | undefined> | string | undefined;
  /** How an error names the record of a name. */
  recordOf(name: string): string;
  /** How many names are meddled with at a time. */
  readonly width?: number;
}

const ann = Holder.create('ann', realRuntime);
const bob = Holder.create('bob', realRuntime);
export const installed = { term: 7, holder: ann };
const owners: readonly Omit<FencingToken, 'name'>[] = [
  { term: 3, holder: ann },
  { term: 7, holder: ann },
  { term: 7, holder: bob },
  { term: 8, holder: bob },
];
let count = 0;

/** @returns what must not be. */
export async function abuseFence<Transaction>(place: GuardedPlace<Transaction>): Promise<string[]> {
  const wrong: string[] = [];
  let next = 0;
  const work = async () => {
    while (next < place.meddlings.length) {
      const meddling = place.meddlings[next++] as Meddling;
      for (const what of await meddled(place, meddling))
        wrong.push(`${meddling.what.slice(0, 200)}: ${what}`);
    }
  };
  await Promise.all(Array.from({ length: place.width ?? 6 }, work));
  return wrong;
}

async function meddled<Transaction>(
  { fence, write, read, recordOf }: GuardedPlace<Transaction>,
  { spoils, spoil }: Meddling,
): Promise<string[]> {
  const name = `fuzz/${process.pid}-${count++}`;
  const wrong: string[] = [];
  await fence.transaction({ name, ...installed }, async (on) => {
    await write(on, name, 'before');
  });
  await spoil(name);
  const ask = async (what: string, isPassing: boolean, asked: () => Promise<unknown>) => {
    const error = await asked().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (error === undefined && !isPassing) wrong.push(`${what} passes`);
    if (error !== undefined && !isFit(error, spoils, recordOf(name)))
      wrong.push(`${what}: ${String((error as Error).stack).slice(0, 600)}`);
  };
  for (const owner of owners) {
    const token = { name, ...owner };
    const what = `term ${owner.term} of ${owner.holder.id}`;
    // A term that stands lets a higher one pass, whoever it names.
    const isPassing = spoils === 'holder' && owner.term > installed.term;
    const writing = async (on: Transaction) => void (await write(on, name, `by ${what}`));
    await ask(`the write of ${what}`, isPassing, () => fence.transaction(token, writing));
    const value = await read(name);
    if (value !== 'before' && !isPassing) wrong.push(`${what} wrote ${value}`);
    await ask(`the claim of ${what}`, isPassing, () => fence.claim(token));
  }
  await ask('the look', spoils === 'holder', () => fence.installedTerm(name));
  if (spoils === 'table') return wrong;
  const beside = { name: `${name}/beside`, ...installed };
  await fence.transaction(beside, async (on) => {
    await write(on, beside.name, 'beside');
  });
  if ((await read(beside.name)) !== 'beside') wrong.push('the name beside it was not written');
  return wrong;
}

function isFit(error: unknown, spoils: Meddling['spoils'], record: string): boolean {
  if (spoils === 'table') return error instanceof TenureError;
  if (error instanceof RecordCorruptError)
    return error.message.includes(record) && /restore it/.test(error.message);
  return spoils === 'holder' && error instanceof StaleTermError && error.installedTerm === 7;
}

/** Terms that are none, as SQL has them. */
export const wrongTerms: readonly string[] = [
  ...['-1', '0', '8640000000000001', '9007199254740993', '9223372036854775807'],
  '-9223372036854775808',
];
/** Digests that are nobody's. */
export const wrongDigests: readonly string[] = ["''", "'x'", "repeat('F', 32)", "repeat('0', 32)"];

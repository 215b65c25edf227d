import { RecordCorruptError } from '../errors/index.js';

/** Whoever removed it would let old owners in, so that is not what the message says to do. */
const remedy =
  'something else has written it. It was left as it is, and nothing passes the fence there: restore it, or put a term there that is above all that were ever installed.';

/** @param where what is to be looked at, as it is named in the resource. */
export function corruptTerm(where: string): RecordCorruptError {
  return new RecordCorruptError(`${where} is no installed term: ${remedy}`);
}

/** @param where as above. */
export function corruptEffect(where: string): RecordCorruptError {
  return new RecordCorruptError(
    `${where} is no recorded effect: something else has written it. It was left as it is: restore it, or remove it if the effect has surely not taken place.`,
  );
}

import type { ActEntry, HistoryEntry, TermEntry } from '../history.js';
import { isTerm } from '../term.js';
import { parseWords } from './words.js';

/*
 * A line of a name's history, as one text. The first character is the version of the format; times are Unix ms.
 *
 *   term:  1T|<term>|<holder id>|<granted at>|<ended at, or nothing>|<why it ended, or nothing>
 *   act:   1A|<revoke, suspend or resume>|<at>|<successor's holder id, or nothing>|<words>
 */

const term = /^1T\|(\d{1,16})\|([^|]+)\|(\d{1,16})\|(\d{0,16})\|([a-z-]*)$/;
const act = /^1A\|(revoke|suspend|resume)\|(\d{1,16})\|([^|]*)\|([^|]*)$/;

/** `undefined` if the text is none of ours. */
export function parseLine(text: string): HistoryEntry | undefined {
  return parseTerm(text) ?? parseAct(text);
}

function parseTerm(text: string): TermEntry | undefined {
  const [, number, holderId, grantedAt, endedAt, endReason] = term.exec(text) ?? [];
  if (holderId === undefined || !isTerm(Number(number))) return undefined;
  const hasEnded = endedAt !== '' && endReason !== '';
  return {
    kind: 'term',
    term: Number(number),
    holderId,
    grantedAtMs: Number(grantedAt),
    endedAtMs: hasEnded ? Number(endedAt) : undefined,
    endReason: hasEnded ? endReason : undefined,
  };
}

function parseAct(text: string): ActEntry | undefined {
  const [, what, at, to, encoded = ''] = act.exec(text) ?? [];
  const words = parseWords(encoded);
  if (words === undefined) return undefined;
  const successor = to === undefined || to === '' ? {} : { to };
  return { kind: 'act', act: what as ActEntry['act'], ...words, atMs: Number(at), ...successor };
}

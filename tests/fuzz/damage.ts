import { generator } from './generator.js';
import { rounds } from './rounds.js';

/**
 * What somebody may have done to a text that a program of ours wrote. All of it is the same in every run: what is drawn, is
 * drawn from a seed.
 */

/** Text that is nobody's record, whatever the format. */
export const foreignTexts: readonly string[] = [
  '',
  ' ',
  '\0',
  '\n',
  '\ufeff',
  'somebody else wrote this',
  '1',
  '1|',
  '||||||||||||',
  'null',
  'true',
  '0',
  '"text"',
  '[]',
  '{}',
  '[null]',
  '{"tenure":1}',
  '{"tenure":2}',
  '{"tenure":"1"}',
  '{"format":1}',
  '{"__proto__":{"tenure":1,"format":1}}',
  '{"constructor":{"prototype":{"tenure":1}}}',
  '9'.repeat(400),
  '\u202egnp.exe',
  '\ud800',
  '['.repeat(50_000),
  '{"a":'.repeat(20_000),
  'x'.repeat(100_000),
];

/** JSON that stands where another value belongs; `1e999` is read as infinite. */
const wrongValues: readonly string[] = [
  'null',
  'false',
  'true',
  '0',
  '-1',
  '1.5',
  '9007199254740993',
  '1e308',
  '1e999',
  '-1e999',
  '""',
  '"x"',
  '"\\u0000"',
  '"\\ud800"',
  '"../.."',
  '"__proto__"',
  '[]',
  '[null]',
  '{}',
  // Has no form as a text: `String()` of it throws.
  '{"toString":1,"valueOf":1}',
  '{"__proto__":{"a":1}}',
];

const wrongFields: readonly string[] = [
  '',
  ' ',
  'x',
  '-1',
  '1.5',
  '0',
  '9999999999999999',
  '99999999999999999999',
  '1e9',
  '0x10',
  '٣',
  '\0',
  '{"toString":1}',
  '[1,2]',
  '["ops"]',
];

/** Everything that this file knows to do to a valid text, in an order that never changes. */
export function damaged(valid: string, seed: number): string[] {
  return [
    ...foreignTexts,
    ...truncated(valid),
    `\ufeff${valid}`,
    `${valid}\0`,
    `${valid}x`,
    ` ${valid}`,
    valid.replace(/\d/, '9'),
    ...(valid.startsWith('{') ? wrongJson(valid) : wrongParts(valid)),
    ...mutated(valid, seed, rounds(200, 5_000)),
  ];
}

export function truncated(valid: string): string[] {
  return Array.from({ length: valid.length }, (_, length) => valid.slice(0, length));
}

/** Each part of the value, at any depth, in turn replaced by each of the wrong ones, and left out. */
export function wrongJson(valid: string, values: readonly string[] = wrongValues): string[] {
  const whole: unknown = JSON.parse(valid);
  return pathsOf(whole).flatMap((path) => [
    ...values.map((value) => withPart(whole, path, value)),
    withPart(whole, path, undefined),
  ]);
}

type Path = readonly (string | number)[];

function pathsOf(value: unknown): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [
    [key],
    ...pathsOf(part).map((path) => [key, ...path]),
  ]);
}

const marked = '\u0001here\u0001';

function withPart(whole: unknown, path: Path, json: string | undefined): string {
  const copy = structuredClone(whole) as Record<string | number, unknown>;
  const parent = path.slice(0, -1).reduce((part, key) => part[key] as typeof copy, copy);
  const last = path.at(-1) ?? '';
  if (json === undefined) delete parent[last];
  else parent[last] = marked;
  return JSON.stringify(copy).replace(JSON.stringify(marked), () => json ?? '');
}

/** Of a text with bars: each field in turn replaced, left out and doubled. */
export function wrongParts(valid: string): string[] {
  const fields = valid.split('|');
  return fields.flatMap((field, at) => {
    const before = fields.slice(0, at);
    const after = fields.slice(at + 1);
    const join = (...middle: string[]) => [...before, ...middle, ...after].join('|');
    return [...wrongFields.map((wrong) => join(wrong)), join(), join(field, field)];
  });
}

/** One to four characters changed, left out or put in, again and again. */
export function mutated(valid: string, seed: number, count: number): string[] {
  const random = generator(seed);
  const alphabet = [...'0123456789|:{}[]",-.eE \\/x\0\ud800\udfff\u202e'];
  return Array.from({ length: count }, () => {
    const characters = [...valid];
    for (let changes = 1 + random(4); changes > 0; changes--) {
      const at = random(characters.length + 1);
      const put = alphabet[random(alphabet.length)] ?? '0';
      const kind = random(3);
      if (kind === 0) characters.splice(at, 1);
      else characters.splice(at, kind - 1, put);
    }
    return characters.join('');
  });
}

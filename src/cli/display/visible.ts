/**
 * What a terminal might obey, or show as something else: control characters, all that is invisible or changes direction
 * (tags and fillers too, in which a second text can be hidden), line separators, lone surrogates. A selector of emoji is
 * seen by what stands before it, and nowhere else.
 */
const unseen =
  /(?!(?<=\p{Extended_Pictographic})\ufe0f)[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u202f\ufff9-\ufffb]/gu;

/**
 * Text from a store or a user as a terminal may see it: what is not visible is written as its escape, `\x1b`. A
 * backslash of the text's own is left alone; this is for people, and JSON for programs.
 */
export function visible(text: string): string {
  return text.replace(unseen, escaped);
}

/** As {@link visible}, for a text of several lines. */
export function visibleLines(text: string): string {
  return text.split('\n').map(visible).join('\n');
}

/** JSON that a terminal may see too. Such characters only stand in its strings, where an escape means the same. */
export function jsonText(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent);
  return text.replace(unseen, (character) => (character === '\n' ? character : unicode(character)));
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicode(character);
}

/** As JSON has it: beyond U+FFFF, an escape for each of its two halves. */
function unicode(character: string): string {
  return Array.from({ length: character.length }, (_, at) => half(character, at)).join('');
}

function half(character: string, at: number): string {
  return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
const plain = /^[ -~]*$/;
let segmenter: Intl.Segmenter | undefined;

/** How many columns a visible text takes. */
export function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  segmenter ??= new Intl.Segmenter();
  let columns = 0;
  for (const { segment } of segmenter.segment(text)) columns += wide.test(segment) ? 2 : 1;
  return columns;
}

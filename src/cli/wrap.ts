/** Lines of at most `columns` characters; what is set out in columns is short enough to stay as it is. */
export function wrap(text: string, columns: number): string[] {
  if (text.length <= columns) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = '';
    }
    line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/**
 * A message for people, whose further lines are set in below its first. Lines of a stack stay as they are, and a word
 * that is wider than the terminal, such as an address, stays whole.
 */
export function hang(text: string, columns: number, indent: string): string {
  return text
    .split('\n')
    .flatMap((line) => (/^\s/.test(line) ? [line] : wrapHanging(line, columns, indent)))
    .join('\n');
}

function wrapHanging(text: string, columns: number, indent: string): string[] {
  // Set in one by one: the first line has as much room as it would have without the others' indent.
  const [first = '', ...rest] = wrap(text, columns);
  if (rest.length === 0) return [first];
  return [first, ...wrap(rest.join(' '), columns - indent.length).map((line) => indent + line)];
}

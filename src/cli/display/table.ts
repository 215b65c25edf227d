import type { Terminal } from '../terminal.js';
import { columnsOf, visible } from './visible.js';

/**
 * Prints rows below their headers, each column as wide as its widest cell; nothing is cut off. A cell is text without
 * style, of which a terminal obeys nothing, wherever it comes from. A column that is empty in every row is left out.
 */
export function printTable(
  terminal: Terminal,
  headers: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const shown = headers.map((_, column) => rows.some((row) => row[column] !== ''));
  const keep = (row: readonly string[]) => row.filter((_, column) => shown[column]);
  const lines = [headers, ...rows].map((row) => keep(row).map(visible));
  const widths = keep(headers).map((_, column) =>
    Math.max(...lines.map((line) => columnsOf(line[column] ?? ''))),
  );
  for (const [number, line] of lines.entries()) {
    const text = line.map((cell, column) => pad(cell, widths[column] ?? 0)).join('  ');
    terminal.print(number === 0 ? terminal.style('bold', text.trimEnd()) : text.trimEnd());
  }
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(width - columnsOf(cell));
}

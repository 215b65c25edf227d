import { describe, expect, it } from 'vitest';
import { sayInstant } from '../../src/cli/display/instant.js';
import { printTable } from '../../src/cli/display/table.js';
import { columnsOf, jsonText, visible } from '../../src/cli/display/visible.js';
import { RecordingTerminal } from './session.js';

describe('text on a terminal', () => {
  it.each([
    ['plain text, \u00fcml\u00e4ute, \u6f22\u5b57 and \u{1f600}', undefined],
    ['\u001b[2J', '\\x1b[2J'],
    ['a\r\nb\tc', 'a\\x0d\\x0ab\\x09c'],
    ['\u009b31m', '\\x9b31m'],
    ['\u007f', '\\x7f'],
    ['abc\u202egpj.exe', 'abc\\u202egpj.exe'],
    ['a\u200bb\ufeff', 'a\\u200bb\\ufeff'],
    ['\ud800', '\\ud800'],
    ['a\u{e0041}b', 'a\\udb40\\udc41b'],
    ['\u3164\u115f\u034f\u17b4', '\\u3164\\u115f\\u034f\\u17b4'],
    ['pay\ufe0f', 'pay\\ufe0f'],
    ['\u26a0\ufe0f', undefined],
  ])('shows %j as what it is', (text, shown = text) => {
    expect(visible(text)).toBe(shown);
  });

  it('is JSON that says the same, with nothing that a terminal obeys', () => {
    const value = { 'a\u009b': ['\u202e', '\u001b', '\u2028', '\u00e4', '\u{e0041}'] };
    const text = jsonText(value, 2);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).toBe(
      '{\n  "a\\u009b": [\n    "\\u202e",\n    "\\u001b",\n    "\\u2028",\n    "\u00e4",\n    "\\udb40\\udc41"\n  ]\n}',
    );
  });

  it.each([
    ['abc', 3],
    ['\u6f22\u5b57', 4],
    ['\u{1f600}', 2],
    ['e\u0301', 1],
  ])('takes its columns: %s', (text, columns) => {
    expect(columnsOf(text)).toBe(columns);
  });
});

describe('a table', () => {
  it('sets its columns below each other, and leaves out those with nothing in them', () => {
    const terminal = new RecordingTerminal();
    printTable(
      terminal,
      ['NAME', 'EMPTY', 'NOTE'],
      [
        ['\u6f22\u5b57', '', 'x'],
        ['longer name', '', ''],
      ],
    );
    expect(terminal.printed).toEqual([
      'NAME         NOTE',
      '\u6f22\u5b57         x',
      'longer name',
    ]);
  });

  it('has nothing in it that a terminal obeys, and is as wide as what it shows', () => {
    const terminal = new RecordingTerminal();
    printTable(terminal, ['STANDING', 'ID'], [['waiting\u001b[2J\n', 'a']]);
    expect(terminal.printed).toEqual(['STANDING            ID', 'waiting\\x1b[2J\\x0a  a']);
  });
});

describe('a time', () => {
  it('is said in UTC to the second, and a number that is none is said as it is', () => {
    expect(sayInstant(Date.UTC(2026, 10, 29, 21, 14, 3, 999))).toBe('2026-11-29T21:14:03Z');
    expect(sayInstant(1e300)).toBe('1e+300 ms');
  });
});

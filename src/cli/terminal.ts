import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import type { Unsubscribe } from '../events/index.js';
import { watchReader } from './reader.js';

type Format = Parameters<typeof styleText>[0];

/** Two streams with one meaning each: what was asked for goes to `stdout`, everything else to `stderr`. */
export interface Terminal {
  /** A line of the answer. */
  print(line?: string): void;
  /** A line about the answer: progress, warnings, failures. */
  note(line?: string): void;
  /** How many columns a note may take. */
  readonly noteColumns: number;
  /** Whether somebody is there who can be asked. */
  readonly isInteractive: boolean;
  /** The line that is typed below a question; empty if there will be none. @throws the reason of the signal. */
  ask(question: string, signal: AbortSignal): Promise<string>;
  /** Calls `gone` when nobody reads the answer any more, where that can be told without writing. */
  onReaderGone(gone: () => void): Unsubscribe;
  /** Styled as long as a person looks at the answer: not into a file or pipe, and not under `NO_COLOR`. */
  style(format: Format, text: string): string;
}

export const terminal: Terminal = {
  print: (line = '') => write(process.stdout, line),
  note: (line = '') => write(process.stderr, line),
  get noteColumns() {
    return process.stderr.columns || 80;
  },
  get isInteractive() {
    return process.stdin.isTTY && process.stderr.isTTY;
  },
  ask: readAnswer,
  onReaderGone: watchReader,
  style: (format, text) => (isStyled() ? styleText(format, text, { validateStream: false }) : text),
};

function isStyled(): boolean {
  return process.stdout.isTTY && process.stdout.hasColors();
}

/** Not by readline's own terminal mode: Ctrl-C stays a signal there. */
async function readAnswer(question: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  process.stderr.write(question);
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve).once('close', () => resolve(''));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  } finally {
    lines.close();
  }
}

/** The answer is data for a program, so what people read moves to the other stream. */
export function narrationAside(inner: Terminal): Terminal {
  return { ...inner, print: inner.note, style: (_format, text) => text };
}

function write(stream: NodeJS.WriteStream, line: string): void {
  stream.write(`${line}\n`);
}

/**
 * The answer cannot be written any more: whoever read it has gone (`tenure demo | head`), or the disk is full. What is
 * lost of the notes is lost: there is no third stream to tell it on.
 */
export function onOutputLost(lost: (error: NodeJS.ErrnoException) => void): void {
  process.stdout.on('error', lost);
  process.stderr.on('error', () => {});
}

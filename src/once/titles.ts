import { preview } from '../errors/index.js';

const titles = {
  begin: 'the beginning of',
  end: 'the end of',
  settle: 'the settling of',
  read: 'the reading of',
} as const;

/** How the messages of every store call what it was asked of a key. */
export function titleOf(operation: keyof typeof titles, key: string): string {
  return `${titles[operation]} the key ${preview(key)}`;
}

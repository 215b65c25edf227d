import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { NodeProgram } from '../../support/node-program.js';
import { folderPerTest } from './folder.js';

const newFolder = folderPerTest();
const root = join(import.meta.dirname, '../../..');

/** The package as a user has it who installed nothing beside it, on a Node without SQLite. */
function installAlone(): string {
  const folder = newFolder();
  const installed = join(folder, 'node_modules', 'tenure');
  mkdirSync(installed, { recursive: true });
  for (const part of ['package.json', 'dist'])
    cpSync(join(root, part), join(installed, part), { recursive: true });
  // A package of its own, or Node would look further up for one that it is part of.
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  cpSync(join(import.meta.dirname, 'without-sqlite.mjs'), join(folder, 'without-sqlite.mjs'));
  return folder;
}

describe('a user who has no SQLite', { timeout: 60_000 }, () => {
  it('can import the package, and is told by the first call what to install', async () => {
    const folder = installAlone();
    const program = new NodeProgram([join(folder, 'without-sqlite.mjs'), join(folder, 'x.db')]);
    try {
      const lines = [
        'imported',
        /^OptionError TENURE_BAD_OPTION: libsql is not installed, and Node \S+ brings no SQLite of its own: run: npm install libsql; or use Node 22\.13 or later/,
        'again OptionError',
        'closed',
      ];
      await program.ended;
      expect(program.lines).toEqual(
        lines.map((line) => (typeof line === 'string' ? line : expect.stringMatching(line))),
      );
    } finally {
      await program.kill();
    }
  });
});

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadPackage } from '../../src/metrics/optional-package.js';
import { NodeProgram } from '../support/node-program.js';

const root = join(import.meta.dirname, '../..');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-metrics-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Tenure with what it depends on, and nothing beside it. */
function installAlone(): void {
  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true });
  cpSync(join(import.meta.dirname, 'without-clients.mjs'), join(folder, 'program.mjs'));
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(root, 'node_modules/croner'), join(folder, 'node_modules/croner'));
}

describe('whoever has no client of metrics', { timeout: 60_000 }, () => {
  it('can import the entries, and is told by the first call what to install', async () => {
    installAlone();
    const hooks = pathToFileURL(join(root, 'tests/support/typescript-hooks.mjs')).href;
    const program = new NodeProgram([join(folder, 'program.mjs'), hooks]);
    try {
      await program.ended;
      expect(program.lines).toEqual([
        'imported',
        'OptionError TENURE_BAD_OPTION: prom-client is not installed: run: npm install prom-client; or pass `register`',
        'OptionError TENURE_BAD_OPTION: @opentelemetry/api is not installed: run: npm install @opentelemetry/api',
        'OptionError TENURE_BAD_OPTION: @opentelemetry/api is not installed: run: npm install @opentelemetry/api',
        'a registry of their own will do',
        'handled',
      ]);
    } finally {
      await program.kill();
    }
  });
});

describe('a client that is there and does not load', () => {
  it('tells its own error', () => {
    const broken = Object.assign(new Error("Cannot find module 'tdigest'"), {
      code: 'MODULE_NOT_FOUND',
    });
    const load = () => {
      throw broken;
    };
    expect(() => loadPackage('prom-client', '', load)).toThrow(broken);
  });
});

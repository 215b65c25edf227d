import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureBuilt } from '../../../scripts/bootstrap.mjs';
import { Holder } from '../../../src/coordinators/index.js';
import { decodeResource } from '../../../src/fences/http/headers.js';
import * as http from '../../../src/http.js';
import * as memory from '../../../src/memory.js';
import { NodeProgram } from '../../support/node-program.js';
import { programsOf, readPage } from '../../support/page-programs.js';
import { send } from './client.js';
import { listening } from './subjects.js';

const root = join(import.meta.dirname, '../../..');
const page = readPage('fencing/http.md');

describe('docs/fencing/http.md', () => {
  it('shows what happens to a write that is overtaken between admission and write', async () => {
    const [{ program, output } = { program: '', output: '' }, ...others] = programsOf(page);
    expect(others).toEqual([]);
    const modules = { 'node:http': { createServer }, 'tenure/http': http, 'tenure/memory': memory };
    expect(await outputOf(program, modules)).toBe(output);
  });

  describe('the vectors', () => {
    interface Vectors {
      readonly digests: readonly (readonly [id: string, nonce: string, digest: string])[];
      readonly names: readonly (readonly [name: string, encoded: string])[];
      readonly malformed: Readonly<Record<string, readonly string[]>>;
      readonly requests: readonly (readonly [term: number, digest: string, status: number])[];
    }
    const [, text = ''] = /```json\n([\s\S]*?)```/.exec(page) ?? [];
    const vectors = JSON.parse(text) as Vectors;

    it('of digests and names hold', () => {
      for (const [id, nonce, digest] of vectors.digests)
        expect(new Holder(id, nonce).digest).toBe(digest);
      for (const [name, encoded] of vectors.names) expect(decodeResource(encoded)).toBe(name);
    });

    it('of headers and requests hold for the service', async () => {
      const fence = memory.memoryFence();
      const options = { fence, resource: { accepts: () => true } };
      const handler = http.nodeFence(options, (_, response) => void response.end());
      const service = await listening(createServer(handler));
      const good = {
        'Fencing-Token': '1',
        'Fencing-Holder': '0'.repeat(32),
        'Fencing-Resource': 'ledger',
      };
      for (const [header, values] of Object.entries(vectors.malformed)) {
        for (const value of values) {
          const reply = await send(service.url, { headers: { ...good, [header]: value } });
          expect([header, value, reply.status]).toEqual([header, value, 400]);
        }
      }
      for (const [term, digest, status] of vectors.requests) {
        const headers = { ...good, 'Fencing-Token': `${term}`, 'Fencing-Holder': digest };
        expect([term, digest, (await send(service.url, { headers })).status]).toEqual([
          term,
          digest,
          status,
        ]);
      }
      await service.close();
    });
  });
});

describe('examples/http-fence', () => {
  const programs: NodeProgram[] = [];
  const start = (...command: [string, ...string[]]) => {
    const [file, ...parameters] = command;
    const program = new NodeProgram([join(root, 'examples/http-fence', file), ...parameters]);
    programs.push(program);
    return program;
  };

  // It imports the package by its name, so what runs is what was built.
  beforeAll(() => ensureBuilt(), 120_000);
  afterAll(async () => {
    await Promise.all(programs.map((program) => program.kill()));
  });

  it('refuses the first owner once the second has written', { timeout: 30_000 }, async () => {
    const run = start('run.mjs');
    expect(await run.ended, run.output).toBe(0);
    expect(run.lines).toEqual([
      'first: 100 cents',
      'second: 150 cents',
      'first, too late: 409 application/problem+json',
      'balance: 150 cents',
    ]);
  });

  it('answers as the session with curl on the page', { timeout: 30_000 }, async () => {
    const service = start('service.mjs', '0');
    const [, url = ''] = await service.says(/^ledger on (\S+)$/);
    const [, session = ''] = /```console\n([\s\S]*?)```/.exec(page) ?? [];
    const steps = session.split(/^\$ /m).slice(1);
    expect(steps).toHaveLength(5);
    for (const step of steps) {
      const [command = '', ...output] = step.split('\n');
      const here = command.replace('http://127.0.0.1:8080', url);
      const { stdout } = await promisify(execFile)('sh', ['-c', here]);
      expect(stdout).toBe(output.join('\n'));
    }
  });
});

/** Runs a program of a page with these modules; answers what it printed. */
async function outputOf(program: string, modules: Record<string, object>): Promise<string> {
  const imports = /import \{([^}]+)\} from '([^']+)';/g;
  const body = program.replace(
    imports,
    (_, names, from) => `const {${names}} = modules['${from}'];`,
  );
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (from: typeof modules, print: Pick<Console, 'log'>) => Promise<void>;
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  await new AsyncFunction('modules', 'console', body)(modules, { log });
  return `${lines.join('\n')}\n`;
}

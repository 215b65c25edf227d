import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** Every TypeScript program of the pages that says what it imports, as a file beside its page: `docs/once.md-1.ts`. */
function programs(): Map<string, string> {
  const found = new Map<string, string>();
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
  for (const page of pages.filter((name) => name.endsWith('.md'))) {
    const text = readFileSync(join(root, 'docs', page), 'utf8');
    const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block);
    for (const [index, block] of blocks.entries())
      if (/^import /m.test(block)) found.set(join(root, 'docs', `${page}-${index + 1}.ts`), block);
  }
  return found;
}

/** What the compiler says of them, against the sources of the package. */
function complaints(files: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, root);
  const wanted = { ...options, incremental: false, experimentalDecorators: true };
  delete wanted.tsBuildInfoFile;
  const host = ts.createCompilerHost(wanted);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path) ?? readFile(path);
  host.getSourceFile = (path, language, ...rest) => {
    const text = files.get(path);
    if (text === undefined) return getSourceFile(path, language, ...rest);
    return ts.createSourceFile(path, text, language);
  };
  const program = ts.createProgram([...files.keys()], wanted, host);
  return [...files.keys()].flatMap((file) => {
    const source = program.getSourceFile(file);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    return found.map(({ messageText, start = 0 }) => {
      const line = (source?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
      return `${file}:${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}

describe('the TypeScript programs of the pages', () => {
  it('are what the compiler takes', () => {
    const files = programs();
    expect(files.size).toBeGreaterThan(5);
    expect(complaints(files)).toEqual([]);
  }, 120_000);

  it('are judged by a compiler that finds mistakes', () => {
    const text =
      "import { type EventLogger } from 'tenure/log';\nexport const a: EventLogger = 5;\n";
    const said = complaints(new Map([[join(root, 'docs', 'wrong.md-1.ts'), text]]));
    expect(said).toEqual([expect.stringMatching(/wrong\.md-1\.ts:2 .*not assignable/)]);
  }, 120_000);
});

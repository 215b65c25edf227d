/**
 * Lets a child process of a test import this project's TypeScript as it stands:
 * `module.register('<this file>', import.meta.url)` first, then `await import('./some.ts')`.
 *
 * Node 20 cannot strip types by itself. A `.js` that is not there stands for the `.ts` beside it.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** @type {import('node:module').ResolveHook} */
export async function resolve(specifier, context, next) {
  if (specifier.startsWith('.') && specifier.endsWith('.js') && context.parentURL) {
    const source = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(source)) return next(source.href, context);
  }
  return next(specifier, context);
}

/** @type {import('node:module').LoadHook} */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  return toModule(url, await readFile(fileURLToPath(url), 'utf8'));
}

/**
 * @param {string} url
 * @param {string} text its TypeScript
 * @returns {import('node:module').LoadFnOutput}
 */
export function toModule(url, text) {
  const { outputText } = ts.transpileModule(text, {
    fileName: fileURLToPath(url),
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2022,
      verbatimModuleSyntax: true,
      inlineSourceMap: true,
    },
  });
  return { format: 'module', source: outputText, shortCircuit: true };
}

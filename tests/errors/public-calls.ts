import manifest from '../../package.json' with { type: 'json' };

const entryNames = Object.keys(manifest.exports)
  .filter((entry) => entry !== './package.json')
  .map((entry) => (entry === '.' ? 'index' : entry.slice(2)));

const modules: readonly Record<string, unknown>[] = await Promise.all(
  entryNames.map((entry) => import(`../../src/${entry}.ts`)),
);

/**
 * What of the package can be called with something: the functions that it exports, its classes but for errors, which users do
 * not make, and their methods as `Class.method`.
 */
export function publicCalls(): string[] {
  const found = modules.flatMap((exported) =>
    Object.entries(exported).flatMap(([name, value]) =>
      typeof value === 'function' && !(value.prototype instanceof Error)
        ? callsOf(name, value)
        : [],
    ),
  );
  return [...new Set(found)];
}

function callsOf(name: string, value: object): string[] {
  if (!/^class\b/.test(String(value))) return [name];
  const methods = [value, Reflect.get(value, 'prototype')].flatMap((owner) =>
    Object.entries(Object.getOwnPropertyDescriptors(owner)).flatMap(([method, { value: code }]) => {
      const isMethod = typeof code === 'function' && method !== 'constructor';
      return isMethod && !takesNothing(code) ? [`${name}.${method}`] : [];
    }),
  );
  return [name, ...methods];
}

function takesNothing(method: object): boolean {
  return /^(?:async\s+)?\*?\s*[\w$]+\s*\(\s*\)/.test(String(method));
}

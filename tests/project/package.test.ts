import { execFile, execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const projectRoot = join(import.meta.dirname, '../..');

function readJson(path: string): Record<string, Record<string, unknown>> {
  return JSON.parse(readFileSync(join(projectRoot, path), 'utf8'));
}

const manifest = readJson('package.json');
const exported = Object.keys(manifest.exports ?? {}).filter((path) => path !== './package.json');

describe('the manifest', () => {
  it('has few runtime dependencies: to read a command line, a cron expression and a file of jobs', () => {
    expect(Object.keys(manifest.dependencies ?? {})).toEqual(['commander', 'croner', 'yaml']);
  });

  it('makes every store client and framework optional, with a lower bound only', () => {
    const peers = manifest.peerDependencies ?? {};
    const scoped = ['@nestjs/common', '@nestjs/core', '@opentelemetry/api', '@types/node'];
    const others = ['ioredis', 'libsql', 'mysql2', 'pg', 'prom-client', 'redis'];
    expect(Object.keys(peers).sort()).toEqual([...scoped, ...others]);
    for (const [name, range] of Object.entries(peers)) {
      // An upper bound breaks the installation of whoever is ahead of us.
      expect(range, name).toMatch(/^>=\d+(\.\d+){0,2}$/);
      expect(manifest.peerDependenciesMeta?.[name], name).toEqual({ optional: true });
    }
  });

  it('runs nothing when it is installed', () => {
    const scripts = Object.keys(manifest.scripts ?? {});
    expect(scripts).not.toContain('preinstall');
    expect(scripts).not.toContain('install');
    expect(scripts).not.toContain('postinstall');
    expect(scripts).not.toContain('prepare');
  });

  it('offers types beside every entry point', () => {
    const stores = ['memory', 'redis', 'postgres', 'mysql', 'sqlite', 'etcd', 'zookeeper'];
    const observing = ['log', 'otel', 'prometheus'];
    const kits = ['testing', 'sim'];
    const names = [...stores, 'http', 'schedule', 'node-cron', 'nestjs', ...observing, ...kits];
    expect(exported).toEqual(['.', ...names.map((name) => `./${name}`)]);
    for (const path of exported) {
      const name = path === '.' ? 'index' : path.slice(2);
      expect(manifest.exports?.[path]).toEqual({
        types: `./dist/${name}.d.ts`,
        default: `./dist/${name}.js`,
      });
    }
  });
});

describe('the types', () => {
  it('find those of Node by themselves, whatever the options of a compiler name', () => {
    const files = exported.map((path) => (path === '.' ? 'index' : path.slice(2)));
    const program = ts.createProgram({
      rootNames: files.map((name) => join(projectRoot, 'dist', `${name}.d.ts`)),
      // As newer compilers have it by default.
      options: { types: [], strict: true, module: ts.ModuleKind.NodeNext, noEmit: true },
    });
    const inOurs = ts
      .getPreEmitDiagnostics(program)
      .filter(({ file }) => file === undefined || !file.fileName.includes('/node_modules/'));
    expect(
      inOurs.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' ')),
    ).toEqual([]);
  }, 60_000);
});

describe('the lock file', () => {
  const packages = readJson('package-lock.json').packages ?? {};

  it('names no place that packages come from, so any registry will do', () => {
    const entries = Object.values(packages) as Record<string, unknown>[];
    expect(entries.filter((entry) => 'resolved' in entry)).toEqual([]);
  });

  it('pins contents, and needs no install script', () => {
    for (const [path, entry] of Object.entries(packages) as [string, Record<string, unknown>][]) {
      if (path === '') continue;
      expect(entry.integrity, path).toMatch(/^sha512-/);
      expect(entry, path).not.toHaveProperty('hasInstallScript');
    }
  });

  it('belongs to this manifest', () => {
    const own = packages[''] as Record<string, unknown>;
    for (const key of ['version', 'dependencies', 'devDependencies', 'peerDependencies']) {
      expect(own[key], key).toEqual(manifest[key]);
    }
  });
});

describe('what is published', () => {
  /** All files of the package. */
  function packed(): string[] {
    // --ignore-scripts: dist/ was built before the tests, and must not change under their feet.
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const output = execFileSync('npm', args, { cwd: projectRoot, encoding: 'utf8', stdio: 'pipe' });
    const [{ files }] = JSON.parse(output) as [{ files: { path: string }[] }];
    return files.map(({ path }) => path);
  }

  it('has all that its pages link to', () => {
    const paths = packed();
    const missing = paths
      .filter((path) => path.endsWith('.md'))
      .flatMap((page) => {
        const text = readFileSync(join(projectRoot, page), 'utf8');
        const links = [...text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)];
        return links.map(([, link = '']) => ({ page, target: join(dirname(page), link) }));
      })
      .filter(({ target }) => !paths.some((path) => `${path}/`.startsWith(`${target}/`)));
    expect(missing).toEqual([]);
  });

  it('holds every file that the manifest promises, and nothing else of the project', () => {
    const paths = packed();
    const entries = exported.map((path) => (path === '.' ? 'index' : path.slice(2)));
    expect(paths).toEqual(
      expect.arrayContaining([
        ...entries.flatMap((name) => [`dist/${name}.js`, `dist/${name}.d.ts`]),
        ...['dist/cli/main.js', 'README.md', 'CHANGELOG.md', 'LICENSE', 'package.json'],
      ]),
    );
    const roots = new Set(paths.map((path) => path.split('/')[0]));
    // The pages, and whatever they link to.
    const pages = ['README.md', 'CHANGELOG.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs'];
    const kits = ['examples', 'ops', 'compose.yaml'];
    const welcome = ['dist', ...pages, ...kits, 'LICENSE', 'package.json'];
    expect([...roots].filter((name) => !welcome.includes(name ?? ''))).toEqual([]);
    expect(paths.filter((path) => /\/\.|\.d\.ts\.map$|^dist\/.*\.test\./.test(path))).toEqual([]);
  });
});

describe('an entry point', () => {
  /** Imports it by the package's own name in a fresh process; returns the npm packages loaded. */
  async function packagesLoadedBy(specifier: string): Promise<string[]> {
    const recorder = join(import.meta.dirname, 'records-imports.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [recorder, specifier], {
      cwd: projectRoot,
    });
    return JSON.parse(stdout) as string[];
  }

  it.each(['tenure', 'tenure/memory', 'tenure/sqlite', 'tenure/testing'])(
    '%s loads no store client and no command line parser',
    async (specifier) => {
      expect(await packagesLoadedBy(specifier)).toEqual([]);
    },
  );

  it.each(['tenure/log', 'tenure/otel', 'tenure/prometheus'])(
    '%s loads no client, not even that of its own metrics before it is called',
    async (specifier) => {
      const loaded = await packagesLoadedBy(specifier);
      const peers = Object.keys(manifest.peerDependencies ?? {});
      expect(peers.filter((name) => loaded.includes(name))).toEqual([]);
    },
  );

  it('is not judged by a recorder that sees nothing', async () => {
    expect(await packagesLoadedBy('commander')).toEqual(['commander']);
    expect(await packagesLoadedBy('pg')).toContain('pg');
  });
});

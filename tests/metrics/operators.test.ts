import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { findPromtool } from '../../scripts/server-binaries.mjs';
import { catalogue } from '../../src/metrics/index.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const rulesFolder = join(root, 'ops/prometheus');
const read = (path: string) => readFile(join(root, path), 'utf8');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

interface RuleTest {
  readonly alert_rule_test: readonly {
    readonly alertname: string;
    readonly exp_alerts?: readonly unknown[];
  }[];
}

interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

async function promtool(...args: readonly string[]): Promise<string> {
  const program = findPromtool();
  if (program === undefined) throw new Error('promtool is missing: npm test installs it');
  const run = promisify(execFile)(program, args, { cwd: rulesFolder });
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
  return stdout + stderr;
}

const alerts: readonly Alert[] = parse(await read('ops/prometheus/alerts.yaml')).groups.flatMap(
  ({ rules }: { rules: Alert[] }) => rules,
);
const ruleTests: readonly RuleTest[] = parse(await read('ops/prometheus/alerts.test.yaml')).tests;
const dashboard = JSON.parse(await read('ops/grafana/tenure.json'));
const panels: readonly Panel[] = dashboard.panels;
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat }) => ({ title, expr, legendFormat })),
);
const variables: readonly { readonly name: string; readonly definition?: string }[] =
  dashboard.templating.list;

/** The series that each metric may have, by name, with their labels. */
const series = new Map(
  Object.values(catalogue).flatMap(({ kind, name, labels }) => {
    const own: readonly string[] = labels;
    if (kind !== 'histogram') return [[name, own] as const];
    return [
      [`${name}_bucket`, [...own, 'le']] as const,
      [`${name}_sum`, own] as const,
      [`${name}_count`, own] as const,
    ];
  }),
);
/** What a scrape adds to each; and how it calls a label of ours that it would otherwise hide. */
const targetLabels = ['instance', 'job', 'exported_job'];

/** What is wrong with the metrics and labels of a query; nothing, if it can have an answer. */
function mistakesIn(expr: string): string[] {
  const names = expr.match(/\btenure_\w+/g) ?? [];
  if (names.length === 0) return [`no metric in ${expr}`];
  const unknown = names.filter((name) => !series.has(name)).map((name) => `no metric ${name}`);
  const known = new Set(names.flatMap((name) => [...(series.get(name) ?? []), ...targetLabels]));
  const grouped = [...expr.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)];
  const selected = [...expr.matchAll(/\{([^}]*)\}/g)];
  const labels = [
    ...grouped.flatMap(([, list = '']) => list.split(',')),
    ...selected.flatMap(([, list = '']) =>
      list.split(',').map((one) => one.split(/[=!]/)[0] ?? ''),
    ),
  ].map((label) => label.trim());
  return [
    ...unknown,
    ...labels.filter((label) => !known.has(label)).map((label) => `no label ${label} in ${expr}`),
  ];
}

describe('the alert rules', () => {
  it('are accepted by promtool', async () => {
    expect(await promtool('check', 'rules', 'alerts.yaml')).toContain(
      `SUCCESS: ${alerts.length} rules found`,
    );
  });

  it('fire where they are to, and are silent where nothing is wrong', async () => {
    const said = await promtool('test', 'rules', 'alerts.test.yaml');
    expect(said).toContain('SUCCESS');
    expect(said).not.toContain('FAILED');
  });

  it.each(alerts)('$alert uses metrics and labels that there are', ({ expr }) => {
    expect(mistakesIn(expr)).toEqual([]);
  });

  it.each(alerts)(
    '$alert has a test in which it fires, and one in which it does not',
    ({ alert }) => {
      const checks = ruleTests
        .flatMap((test) => test.alert_rule_test)
        .filter(({ alertname }) => alertname === alert);
      expect(checks.some(({ exp_alerts = [] }) => exp_alerts.length > 0)).toBe(true);
      expect(checks.some(({ exp_alerts = [] }) => exp_alerts.length === 0)).toBe(true);
    },
  );

  it.each(alerts)(
    '$alert names a runbook, which says what to do',
    async ({ alert, annotations }) => {
      const { runbook_url: path = '', summary, description } = annotations;
      expect([summary, description]).not.toContain(undefined);
      expect(path).toMatch(/^docs\/runbooks\/[a-z-]+\.md$/);
      const page = await read(path);
      expect(page.startsWith(`# ${alert}\n`)).toBe(true);
      for (const part of [
        '**What it hurts.**',
        '## Look',
        '## Causes and remedies',
        '## It is over when',
      ])
        expect(page).toContain(part);
    },
  );
});

describe('the runbooks', () => {
  const pages = readdir(join(root, 'docs/runbooks'));

  it('are one for each alert', async () => {
    const wanted = alerts.map(({ annotations }) => annotations.runbook_url?.split('/').at(-1));
    expect((await pages).sort()).toEqual([...wanted].sort());
  });

  it('link only to pages that there are', async () => {
    for (const page of await pages) {
      const folder = join(root, 'docs/runbooks');
      const text = await readFile(join(folder, page), 'utf8');
      for (const [, link = ''] of text.matchAll(/\]\(([^)#]+)/g))
        await expect(readFile(join(folder, link)), `${page}: ${link}`).resolves.toBeDefined();
    }
  });

  it('name only metrics and panels that there are', async () => {
    const titles = new Set(panels.map(({ title }) => title));
    const names = new Set(Object.values(catalogue).map(({ name }): string => name));
    for (const page of await pages) {
      const text = await read(`docs/runbooks/${page}`);
      for (const name of text.match(/\btenure_\w+/g) ?? []) expect(names, page).toContain(name);
      for (const [, title] of text.matchAll(/[Pp]anels? (?:`[^`]*`, )?\*([^*]+)\*/g))
        expect(titles, page).toContain(title);
    }
  });
});

describe('the dashboard', () => {
  it.each(queries)(
    'asks in "$title" for metrics and labels that there are: $expr',
    ({ expr, legendFormat }) => {
      const legend = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
      expect(mistakesIn(expr)).toEqual([]);
      const known = [...targetLabels, ...Object.values(catalogue).flatMap(({ labels }) => labels)];
      for (const label of legend) expect(known).toContain(label);
    },
  );

  it('shows every metric there is', () => {
    const asked = queries.map(({ expr }) => expr).join('\n');
    const hidden = Object.values(catalogue).filter(({ name }) => !asked.includes(name));
    expect(hidden.map(({ name }) => name)).toEqual([]);
  });

  it('has queries that promtool can parse', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-dashboard-'));
    try {
      const rules = queries.map(({ expr }, index) => ({ record: `panel:${index}`, expr }));
      const file = join(folder, 'queries.yaml');
      await writeFile(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
      const said = await promtool('check', 'rules', file);
      expect(said).toContain(`SUCCESS: ${queries.length} rules found`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('says of each panel what it means, has a place for each, and uses variables that it defines', () => {
    const texts = panels.filter(({ targets }) => targets !== undefined);
    for (const { title, description } of texts) expect(description, title).toMatch(/\.$/);
    const places = dashboard.panels.map(
      ({ gridPos }: { gridPos: { x: number; y: number } }) => `${gridPos.x},${gridPos.y}`,
    );
    expect(new Set(places).size).toBe(places.length);
    const defined = new Set(variables.map(({ name }) => name));
    for (const [, name] of JSON.stringify(queries).matchAll(/\$(\w+)/g))
      expect(defined).toContain(name);
    for (const { definition } of variables)
      if (definition !== undefined) expect(mistakesInVariable(definition)).toEqual([]);
  });
});

function mistakesInVariable(definition: string): string[] {
  const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? [];
  return series.get(metric)?.includes(label) ? [] : [definition];
}

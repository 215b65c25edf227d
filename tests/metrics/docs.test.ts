import { readFile } from 'node:fs/promises';
import * as promClient from 'prom-client';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import * as log from '../../src/log.js';
import { catalogue } from '../../src/metrics/index.js';
import { labelValues } from '../../src/metrics/label-values.js';
import * as prometheus from '../../src/prometheus.js';
import { programsOf, readPage, runProgram } from '../support/page-programs.js';

const page = readPage('metrics.md');

/** The rows of the first table below a heading, each as its cells. */
function tableBelow(heading: string): string[][] {
  const [, below = ''] = page.split(`\n${heading}\n`);
  const [table = ''] = /(?:^\|.*\n)+/m.exec(below) ?? [];
  const rows = table.trimEnd().split('\n').slice(2);
  return rows.map((row) => row.split(' | ').map((cell) => cell.replace(/^\| ?| ?\|$/g, '').trim()));
}

const code = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ');

describe('docs/metrics.md', () => {
  it('lists every metric, with its type, labels and meaning', () => {
    expect(tableBelow('### All metrics')).toEqual(
      Object.values(catalogue).map(({ name, kind, labels, help }) => [
        `\`${name}\``,
        kind,
        code(labels),
        help,
      ]),
    );
  });

  it('lists every value of the labels that are no names', () => {
    expect(tableBelow('### Values of labels')).toEqual(
      labelValues.map(({ label, of, values }) => [
        `\`${label}\``,
        code(of.map((key) => catalogue[key].name)),
        code(values),
      ]),
    );
  });

  it('leaves no label out: it is a name, or its values are listed', () => {
    const names = ['store', 'node', 'election', 'resource', 'group', 'shard', 'job'];
    for (const [key, { labels }] of Object.entries(catalogue)) {
      const listed = labelValues.filter(({ of }) => of.some((one) => one === key));
      const open = labels.filter((label) => !names.includes(label));
      expect(listed.map(({ label }) => label).sort(), key).toEqual([...open].sort());
    }
  });

  it('lists every event, with its level, fields and message', () => {
    expect(tableBelow('### All events')).toEqual(
      Object.entries(log.eventCatalogue).map(([name, { level, fields, message }]) => [
        `\`${name}\``,
        level,
        code(fields),
        message,
      ]),
    );
  });

  it('lists every alert with its runbook', async () => {
    const rules = parse(await readFile('ops/prometheus/alerts.yaml', 'utf8'));
    const alerts: readonly { alert: string; annotations: { runbook_url: string } }[] =
      rules.groups[0].rules;
    const rows = tableBelow('## Alerts').map(([alert, , runbook]) => [alert, runbook]);
    expect(rows).toEqual(
      alerts.map(({ alert, annotations: { runbook_url } }) => {
        const file = runbook_url.replace('docs/runbooks/', '');
        return [`\`${alert}\``, `[${file.replace('.md', '')}](runbooks/${file})`];
      }),
    );
  });

  it.each(programsOf(page))(
    'has a program that prints what stands below it',
    async ({ program, output }) => {
      const modules = {
        'prom-client': promClient,
        'tenure/log': log,
        'tenure/prometheus': prometheus,
      };
      expect(await runProgram(program, modules)).toBe(output);
    },
  );

  it('has two programs', () => {
    expect(programsOf(page)).toHaveLength(2);
  });
});

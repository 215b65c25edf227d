import { describe, expect, it } from 'vitest';
import { search } from '../../spec/search.mjs';
import { type Variant, variants } from '../../spec/variants.mjs';

/** A minute and more on a machine that is busy otherwise; 5 s on one that is not. */
const limitMs = 300_000;

const titled = (variant: Variant): [string, Variant] => [
  `${variant.model}: ${variant.name}`,
  variant,
];
const sound = variants.filter(({ arises }) => arises !== undefined);
const leases = variants.find(({ model }) => model === 'lease.pml') as Variant;
const unsound = variants.filter(({ fails }) => fails !== undefined);

describe('the model', { timeout: limitMs, concurrent: true }, () => {
  it('has to hold or to fail, each variant one of the two', () => {
    expect(sound.length + unsound.length).toBe(variants.length);
  });

  it.each(sound.map(titled))('holds in every state there is. %s', async (_, variant) => {
    const { holds, output, arises, unreached, trace } = await search(variant);
    expect(trace).toEqual([]);
    expect(output).toMatch(/errors: 0$/m);
    expect(holds, output).toBe(true);
    // It is not right because nothing happens in it.
    expect([...arises].sort()).toEqual([...(variant.arises ?? [])].sort());
    expect(unreached).toEqual([]);
  });

  it.each(unsound.map(titled))('fails, with a trace. %s', async (_, variant) => {
    const { holds, output, trace } = await search(variant);
    expect(holds).toBe(false);
    expect(output).toMatch(/errors: 1$/m);
    expect(trace.join('\n')).toMatch(new RegExp(variant.fails as RegExp, 'm'));
    if (variant.model === 'lease.pml')
      expect(believesWithoutLease(trace), trace.join('\n')).toBe(true);
    else if (variant.live) expect(trace.at(-1)).toBe('<<<<<START OF CYCLE>>>>>');
    else expect(isOutOfOrder(trace), trace.join('\n')).toBe(true);
  });

  it('does not hold if some of its states were not looked at', async () => {
    const { holds, output } = await search(leases, 20);
    expect(output).toMatch(/errors: 0$/m);
    expect(holds).toBe(false);
  });
});

/** Whether the write that was applied last is of an earlier grant than somebody else had read under. */
function isOutOfOrder(trace: readonly string[]): boolean {
  const owners = new Map<string, string>();
  const readers: { reader: string; grant: string }[] = [];
  for (const line of trace) {
    const made = /makes grant (\d) to candidate (\d)/.exec(line);
    if (made) owners.set(made[1] ?? '', made[2] ?? '');
    const read = /candidate (\d) reads, and sends its write under grant (\d)/.exec(line);
    if (read) readers.push({ reader: read[1] ?? '', grant: read[2] ?? '' });
  }
  const applied = /the write of grant (\d) is applied/.exec(trace.at(-1) ?? '')?.[1] ?? '';
  const owner = owners.get(applied);
  if (owner === undefined) return false;
  return readers.some(({ reader, grant }) => reader !== owner && grant > applied);
}

/** Whether at the end somebody believes that it has the lease, and the store says otherwise. */
function believesWithoutLease(trace: readonly string[]): boolean {
  const believers = new Set<string>();
  let holder: string | undefined;
  for (const line of trace) {
    const [, name = ''] = /process (\d)/.exec(line) ?? [];
    if (/the store grants/.test(line)) holder = name;
    if (/a tick: 0 left|the store executes a release/.test(line)) holder = undefined;
    if (/believes/.test(line)) believers.add(name);
    if (/past its deadline|has stopped its work/.test(line)) believers.delete(name);
  }
  return [...believers].some((believer) => believer !== holder);
}

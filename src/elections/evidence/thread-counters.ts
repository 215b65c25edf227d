import { readFileSync } from 'node:fs';

/** What the system has counted of this thread since it began, in milliseconds; `undefined` where it does not tell. */
export interface ThreadCounters {
  readonly ranMs: number | undefined;
  readonly waitedMs: number | undefined;
  readonly throttledMs: number | undefined;
}

export type ReadCounters = () => ThreadCounters;

/** For times that are not those of the machine. */
export const noCounters: ReadCounters = () => ({
  ranMs: undefined,
  waitedMs: undefined,
  throttledMs: undefined,
});

/** Linux: two small files that the kernel writes on demand, 20 microseconds each. Elsewhere the processor time alone. */
export const systemCounters: ReadCounters = () => {
  const [ran, waited] = numbersIn(contentOf('/proc/thread-self/schedstat'));
  return {
    ranMs: ran === undefined ? processTimeMs() : ran / 1e6,
    waitedMs: waited === undefined ? undefined : waited / 1e6,
    throttledMs: throttledMs(),
  };
};

function processTimeMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Where the group of this process is told of; `null` once it is known that nowhere. */
let throttleFile: string | null | undefined;

function throttledMs(): number | undefined {
  throttleFile ??= findThrottleFile();
  if (throttleFile === null) return undefined;
  const text = contentOf(throttleFile) ?? '';
  const micros = /^throttled_usec (\d+)/m.exec(text)?.[1];
  if (micros !== undefined) return Number(micros) / 1e3;
  const nanos = /^throttled_time (\d+)/m.exec(text)?.[1];
  return nanos === undefined ? undefined : Number(nanos) / 1e6;
}

function findThrottleFile(): string | null {
  const groups = contentOf('/proc/self/cgroup') ?? '';
  const [, second] = /^0::(\/.*)$/m.exec(groups) ?? [];
  const [, first] = /^\d+:(?:\w+,)*cpu(?:,\w+)*:(\/.*)$/m.exec(groups) ?? [];
  const files = [
    first === undefined ? '' : `/sys/fs/cgroup/cpu${first}/cpu.stat`,
    second === undefined ? '' : `/sys/fs/cgroup${second}/cpu.stat`,
    // In a container its own group is mounted as the root.
    '/sys/fs/cgroup/cpu/cpu.stat',
    '/sys/fs/cgroup/cpu.stat',
  ];
  return files.find((file) => /^throttled_/m.test(contentOf(file) ?? '')) ?? null;
}

function numbersIn(text: string | undefined): (number | undefined)[] {
  return (text ?? '')
    .trim()
    .split(' ')
    .map((word) => (/^\d+$/.test(word) ? Number(word) : undefined));
}

function contentOf(file: string): string | undefined {
  if (file === '') return undefined;
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}

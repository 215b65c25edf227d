import { Redis } from 'ioredis';
import { Holder } from '../src/coordinators/index.js';
import { redisFence } from '../src/redis.js';
import { realRuntime } from '../src/time/index.js';
import type { Finding } from './main.js';
import { compare, rounded, timed } from './measure.js';

const writesPerRound = 1_000;

/** So many writers share the writes, each one after the other. Returns writes a second. */
async function writing(writers: number, write: (key: string) => Promise<unknown>): Promise<number> {
  const each = Math.ceil(writesPerRound / writers);
  const elapsedMs = await timed(() =>
    Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        for (let count = 0; count < each; count++) await write(`bench:${writer}`);
      }),
    ),
  );
  return (writers * each * 1000) / elapsedMs;
}

/** A fenced write against the bare command, sent by ioredis with its default options. */
export async function fencedWrite(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const fence = redisFence(url);
  const token = { name: 'bench', term: 1, holder: Holder.create('bench', realRuntime) };
  await fence.claim(token);
  const findings: Finding[] = [];
  for (const writers of [1, 16]) {
    const { ours, reference, ratio } = await compare(
      9,
      () =>
        writing(writers, (key) =>
          fence.transaction(token, async (batch) => batch.command('INCRBY', key, 1)),
        ),
      () => writing(writers, (key) => client.incrby(key, 1)),
    );
    findings.push({
      what: `a fenced INCRBY, ${writers === 1 ? 'one' : writers} at a time, against the bare command`,
      measured: `${rounded(ratio)} of it (${rounded(ours, 0)} to ${rounded(reference, 0)} writes a second)`,
      wanted: 'at least 0.8',
      met: ratio >= 0.8,
    });
  }
  await fence.close();
  await client.quit();
  return findings;
}

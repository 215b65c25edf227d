import { Redis } from 'ioredis';
import { Holder } from '../src/coordinators/index.js';
import { redisFence } from '../src/redis.js';
import { realRuntime } from '../src/time/index.js';
import type { Finding } from './main.js';
import { compare, rounded, timed } from './measure.js';

const writesPerRound = 1_000;
/** Of each kind, before anything is measured: it takes some thousand until all of it is compiled. */
const warmUpRounds = 20;

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

/** Runs the command that it is given, and nothing else. */
const bareScript = 'return redis.call(ARGV[1], KEYS[1], ARGV[2])';

/**
 * A fenced write against the bare command, and for orientation a script against it that does nothing but the command: that
 * much any check costs that is one step with the write. Both are sent by ioredis with its default options.
 */
export async function fencedWrite(url: string): Promise<Finding[]> {
  const client = new Redis(url);
  const fence = redisFence(url);
  const token = { name: 'bench', term: 1, holder: Holder.create('bench', realRuntime) };
  await fence.claim(token);
  const sha = String(await client.script('LOAD', bareScript));
  const fenced = (key: string) =>
    fence.transaction(token, async (batch) => batch.command('INCRBY', key, 1));
  const scripted = (key: string) => client.evalsha(sha, 1, key, 'INCRBY', '1');
  const bare = (key: string) => client.incrby(key, 1);
  const findings: Finding[] = [];
  for (const writers of [1, 16]) {
    for (let round = 0; round < warmUpRounds; round++)
      for (const write of [fenced, scripted, bare]) await writing(writers, write);
    const { ours, reference, ratio } = await compare(
      9,
      () => writing(writers, fenced),
      () => writing(writers, bare),
    );
    const script = await compare(
      9,
      () => writing(writers, fenced),
      () => writing(writers, scripted),
    );
    const alone = rounded(ratio / script.ratio);
    findings.push({
      what: `a fenced INCRBY, ${writers === 1 ? 'one' : writers} at a time, against the bare command`,
      measured: `${rounded(ratio)} of it (${rounded(ours, 0)} to ${rounded(reference, 0)} writes a second); ${rounded(script.ratio)} of a script that only runs the command, which itself reaches ${alone}`,
      wanted: 'at least 0.8',
      met: ratio >= 0.8,
    });
  }
  findings.push(await messages(client, fenced));
  await fence.close();
  await client.quit();
  return findings;
}

/** How many commands the server executes for one fenced write; those inside of the script are not counted as messages. */
async function messages(
  client: Redis,
  fenced: (key: string) => Promise<unknown>,
): Promise<Finding> {
  const counted = ['evalsha', 'eval', 'get', 'time', 'incrby', 'set', 'setrange'];
  const calls = async () => {
    const stats = await client.info('commandstats');
    return counted.map((name) =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
    );
  };
  const before = await calls();
  const writeCount = 100;
  for (let count = 0; count < writeCount; count++) await fenced('bench:counted');
  const after = await calls();
  const each = counted.map((name, index) => ({
    name,
    count: ((after[index] ?? 0) - (before[index] ?? 0)) / writeCount,
  }));
  const [evalsha] = each;
  const inside = each.filter(({ name, count }) => !name.startsWith('eval') && count > 0);
  return {
    what: 'what a fenced INCRBY costs, whatever the load',
    measured: `${evalsha?.count} message, with ${inside.map(({ name, count }) => `${count} ${name}`).join(', ')} in it`,
    wanted: '1 message, with 3 commands in it',
    met: evalsha?.count === 1 && inside.reduce((sum, { count }) => sum + count, 0) === 3,
  };
}

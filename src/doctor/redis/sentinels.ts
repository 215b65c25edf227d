import { promisesOf } from '../../coordinators/redis/promises.js';
import { type Endpoint, endpointText } from '../../drivers/endpoint.js';
import { StoreMisconfiguredError, UnreachableError } from '../../errors/index.js';
import { judgeAll, type Looked, unseen } from '../check.js';
import type { Finding, Purpose } from '../finding.js';
import type { SentinelFacts, SentinelWatch } from './facts.js';
import { sentinelChecks } from './judge-sentinels.js';
import { asker, lookWith, openTo } from './look.js';
import type { Places } from './places.js';
import { type Inspected, inspect } from './server.js';

interface Said {
  readonly master?: Endpoint | undefined;
  readonly watch?: Looked<SentinelWatch>;
  readonly failure?: string;
}

/** Looks at the sentinels, and at the server that most of them take for the master. @throws {TenureError} if there is none. */
export async function examineSentinels(
  places: Places,
  sentinels: readonly Endpoint[],
  masterName: string,
  purpose: Purpose,
): Promise<Inspected> {
  const said = await Promise.all(
    sentinels.map((sentinel) => askSentinel(places, sentinel, masterName, purpose)),
  );
  const facts = factsOf(masterName, said);
  const findings = judgeAll(sentinelChecks, facts, purpose);
  const promises = promisesOf('sentinel', 0);
  const master = mostNamed(said);
  if (master === undefined) throw noMaster(facts);
  try {
    const inspected = await inspect(places.at(master), 'sentinel', promises, purpose);
    return { promises, findings: [...findings, ...inspected.findings] };
  } catch (error) {
    // Its sentinels say more of a master that is gone than that it does not answer.
    if (!(error instanceof UnreachableError) || !isBad(findings)) throw error;
    return { promises, findings };
  }
}

async function askSentinel(
  places: Places,
  sentinel: Endpoint,
  masterName: string,
  purpose: Purpose,
): Promise<Said> {
  const half = { ...purpose, timeoutMs: purpose.timeoutMs / 2 };
  try {
    const link = await openTo({ node: places.sentinelAt(sentinel) }, half);
    try {
      const ask = asker(link, half);
      const reply = await ask('SENTINEL', 'get-master-addr-by-name', masterName);
      if (!Array.isArray(reply)) return {};
      const [host, port] = reply as string[];
      const asked = ask('SENTINEL', 'MASTER', masterName);
      const watch = await lookWith(asked, 'SENTINEL MASTER', 'sentinel|master', readWatch);
      return { watch, master: { host: host ?? '', port: Number(port) } };
    } finally {
      link.end('it has answered');
    }
  } catch (error) {
    return { failure: `${endpointText(sentinel)}: ${(error as Error).message.replace(/\.$/, '')}` };
  }
}

/** Names and values, one after the other. */
function readWatch(reply: unknown): SentinelWatch {
  const words = reply as string[];
  const field = (name: string) => words[words.indexOf(name) + 1] ?? '';
  return {
    runId: field('runid'),
    quorum: Number(field('quorum')),
    sentinels: Number(field('num-other-sentinels')) + 1,
    isDown: /\b[so]_down\b/.test(field('flags')),
  };
}

function factsOf(masterName: string, said: readonly Said[]): SentinelFacts {
  const watches = said.flatMap(({ watch }) => watch ?? []);
  const facts = watches.flatMap((watch) => ('fact' in watch ? watch.fact : []));
  const hidden = watches.find((watch) => 'because' in watch);
  return {
    masterName,
    named: { count: said.length, failures: said.flatMap(({ failure }) => failure ?? []) },
    knowingCount: said.filter(({ master }) => master !== undefined).length,
    masters: [...new Set(said.flatMap(({ master }) => (master ? endpointText(master) : [])))],
    runIds: [...new Set(facts.map(({ runId }) => runId).filter((id) => id !== ''))],
    watch:
      facts.length > 0
        ? {
            fact: {
              runId: facts[0]?.runId ?? '',
              quorum: Math.max(...facts.map(({ quorum }) => quorum)),
              sentinels: Math.max(...facts.map(({ sentinels }) => sentinels)),
              isDown: facts.some(({ isDown }) => isDown),
            },
          }
        : (hidden ?? unseen('no sentinel knows the master', 'correct its name in the URL')),
  };
}

function mostNamed(said: readonly Said[]): Endpoint | undefined {
  const named = said.flatMap(({ master }) => master ?? []);
  const votesFor = (one: Endpoint) =>
    named.filter((other) => endpointText(other) === endpointText(one)).length;
  return [...named].sort((one, other) => votesFor(other) - votesFor(one))[0];
}

function noMaster({ masterName, named: { count, failures } }: SentinelFacts): Error {
  if (failures.length === count)
    return new UnreachableError(`no sentinel answers: ${failures.join('; ')}.`);
  return new StoreMisconfiguredError(
    `no sentinel knows a master "${masterName}": use the name that their configuration gives it (SENTINEL MASTERS lists them).`,
  );
}

function isBad(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'critical');
}

import { StoreMisconfiguredError } from '../../errors/index.js';
import { unreachable } from '../../errors/unanswered.js';
import type { Runtime } from '../../time/index.js';
import { assertKeepsData, assertUsable, parseFacts, type RedisFacts } from './checks.js';
import type { Topology } from './client.js';
import { replyCode, replyError } from './errors.js';
import type { Link } from './link.js';

export interface Greeted {
  /** Absent if the server does not let us ask. */
  readonly facts: RedisFacts | undefined;
  readonly warning: string | undefined;
}

const infoDenied =
  'INFO is denied, so neither the role nor maxmemory-policy could be checked: it must be a master with noeviction';

/**
 * The first questions on a new link: what time it is there, and whether leases can be trusted to this server. A server that
 * is not accepted loses the link.
 *
 * @throws {StoreMisconfiguredError} as `checks.ts` says. @throws {UnreachableError} for a replica, where others say who the
 * master is: what they say may be old news, and another one is asked for.
 */
export async function greet(
  link: Link,
  topology: Topology,
  runtime: Runtime,
  deadlineMs: number,
): Promise<Greeted> {
  const sentAtMs = runtime.now().monotonicMs;
  try {
    const asked = link.call('time', [], 'TIME', deadlineMs);
    const [answer, facts] = await Promise.all([
      asked.then(
        (time) => ({ time }),
        (failure: Error) => ({ failure }),
      ),
      factsOf(link, deadlineMs),
    ]);
    // What keeps no data does not know the time either.
    if (facts !== undefined) assertKeepsData(facts, link.address);
    if ('failure' in answer) throw answer.failure;
    const { time } = answer;
    const [seconds, microseconds] = time as [string, string];
    const serverMs = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
    link.clock.observe(serverMs, sentAtMs, runtime.now().monotonicMs);
    if (topology !== 'single') await assertMaster(link, facts, deadlineMs);
    if (facts !== undefined) assertUsable(facts, link.address);
    return { facts, warning: facts === undefined ? infoDenied : undefined };
  } catch (error) {
    link.end('the server was not accepted');
    throw replyCode(error) === undefined
      ? error
      : replyError(error as Error, 'the first question', link.address);
  }
}

async function factsOf(link: Link, deadlineMs: number): Promise<RedisFacts | undefined> {
  try {
    return parseFacts(String(await link.call('info', [], 'INFO', deadlineMs)));
  } catch (error) {
    if (replyCode(error) !== 'NOPERM') throw error;
    return undefined;
  }
}

async function assertMaster(
  link: Link,
  facts: RedisFacts | undefined,
  deadlineMs: number,
): Promise<void> {
  const role = facts?.role || (await roleOf(link, deadlineMs));
  if (role === 'master') return;
  throw unreachable(
    'replica',
    `${link.address} was said to be the master, and is a replica: the failover is not over, or the news of it have not reached everybody.`,
  );
}

/** Where INFO is denied, or keeps it to itself. */
async function roleOf(link: Link, deadlineMs: number): Promise<unknown> {
  try {
    const reply = await link.call('role', [], 'ROLE', deadlineMs);
    return Array.isArray(reply) ? (reply as unknown[])[0] : undefined;
  } catch (error) {
    if (replyCode(error) !== 'NOPERM') throw error;
    throw new StoreMisconfiguredError(
      `${link.address} does not say whether it is the master: give its user the right to INFO or to ROLE.`,
    );
  }
}

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startZooKeeperEnsemble, type ZooKeeperServer } from '../support/servers/index.js';
import { until } from '../support/until.js';
import { newNamespace, Process } from './zookeeper-fixture.js';
import { hasMulti } from './zookeeper-target.js';

/** Sessions outlive the election, so that what was read before it is what a write after it stands on. */
const sessionMs = 20_000;
const leaseMs = 25_000;
/** How far the numbers of transactions jump with each election. */
const epochSize = 2 ** 32;

let members: ZooKeeperServer[] = [];

beforeAll(async () => {
  members = await startZooKeeperEnsemble({ smallestSessionMs: sessionMs });
}, 60_000);
afterAll(async () => {
  await Promise.all(members.map((member) => member.stop()));
});

async function modes(): Promise<Map<string | undefined, ZooKeeperServer>> {
  return new Map(await Promise.all(members.map(async (one) => [await one.mode(), one] as const)));
}

/** The session time-out that a handshake asks for. */
function askedFor(bytes: Buffer): number | undefined {
  const isHandshake = bytes.length >= 44 && bytes.readInt32BE(4) === 0;
  return isHandshake ? bytes.readInt32BE(16) : undefined;
}

it('a grant that an election comes into has the term after the one before, not one of a far future', async () => {
  await until('a follower', async () => (await modes()).has('follower'));
  const before = await modes();
  const [leader, follower] = ['leader', 'follower'].map((mode) => before.get(mode));
  if (leader === undefined || follower === undefined) throw new Error('no leader, or no follower');
  const { namespace } = newNamespace();
  const ann = await Process.start(follower, 'ann', { namespace });
  try {
    const term = await ann.take('before', sessionMs);
    const blocked = { control: false, lease: true };
    let sentCount = 0;
    ann.proxy.up.set({
      kind: 'judge',
      fateOf: (bytes) => {
        const timeoutMs = askedFor(bytes);
        if (timeoutMs === undefined && hasMulti(bytes)) sentCount += 1;
        const isHeld = timeoutMs === leaseMs ? blocked.lease : timeoutMs === 1 && blocked.control;
        return isHeld ? 'swallow' : 'none';
      },
    });
    // Read under the first leader; to be written over a connection that comes about under the second.
    const acquiring = ann.client.acquire([ann.request('job', leaseMs)], { timeoutMs: 40_000 });
    await ann.proxy.up.caught();
    blocked.control = true;
    await leader.kill();
    await until('a new leader', async () => (await modes()).has('leader'));
    blocked.lease = false;
    const startedMs = performance.now();
    await until('the moment', () => sentCount > 0 || performance.now() - startedMs > 2_000);
    blocked.control = false;
    const [result] = await acquiring;
    if (result?.outcome !== 'granted') throw new Error(`not granted: ${JSON.stringify(result)}`);
    expect(result.term).toBeGreaterThan(term);
    expect(result.term - term).toBeLessThan(epochSize / 2);
  } finally {
    await ann.stop();
  }
}, 90_000);

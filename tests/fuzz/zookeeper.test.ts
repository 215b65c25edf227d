import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ZooKeeperPaths } from '../../src/coordinators/zookeeper/paths.js';
import { ZooKeeperConnection } from '../../src/drivers/zookeeper/index.js';
import { RecordCorruptError } from '../../src/errors/index.js';
import { realRuntime } from '../../src/time/index.js';
import { type ZooKeeperCoordinator, zookeeperCoordinator } from '../../src/zookeeper.js';
import { call } from '../support/call.js';
import { startZooKeeper, type ZooKeeperServer } from '../support/servers/index.js';
import { foreignTexts, wrongJson } from './damage.js';
import { useHostileNames } from './hostile-use.js';
import { fewOrAll, longestMs } from './rounds.js';
import { abuse, type Place, standings } from './scene.js';

let server: ZooKeeperServer;
let admin: ZooKeeperConnection;
const open: ZooKeeperCoordinator[] = [];
let namespaceCount = 0;

beforeAll(async () => {
  server = await startZooKeeper();
  admin = await ZooKeeperConnection.open({
    ...{ runtime: realRuntime, server, login: undefined },
    ...{ sessionTimeoutMs: 30_000, connectTimeoutMs: 10_000 },
  });
});
afterAll(async () => {
  for (const one of open) await one.close();
  admin?.destroy('the tests are over');
  await server?.stop();
});

function newSpace() {
  const namespace = `fuzz/${namespaceCount++}`;
  const coordinator = zookeeperCoordinator(`zookeeper://127.0.0.1:${server.port}`, { namespace });
  open.push(coordinator);
  return { coordinator, paths: new ZooKeeperPaths('', namespace) };
}

describe('hostile names in ZooKeeper', () => {
  it('work as they are, none as another', async () => {
    const namespace = `*{}[]'"\\%?$;-- é`;
    const coordinator = zookeeperCoordinator(`zookeeper://127.0.0.1:${server.port}/%2A%20é`, {
      namespace,
    });
    open.push(coordinator);
    await useHostileNames(coordinator);
  });
});

describe('what stands in ZooKeeper under a name and was meddled with', () => {
  it.each(standings)(
    'is told by type, and the name is granted to nobody: %s',
    async (standing) => {
      const { coordinator, paths } = newSpace();
      const placesOf = async (name: string): Promise<Place[]> => {
        const own = paths.name(name);
        const children = (await admin.getChildren(own))
          .map((child) => `${own}/${child}`)
          .sort(byKind);
        const all = [own, ...children, paths.document(name)];
        const nodes = await Promise.all(all.map((path) => admin.getData(path)));
        return nodes.flatMap(({ data }, index) =>
          damages(data.toString(), index + standings.indexOf(standing)).map((text) => ({
            what: `${all[index]?.slice(paths.root.length)} = ${text.slice(0, 300)}`,
            spoil: () => admin.setData(all[index] ?? '', Buffer.from(text)),
          })),
        );
      };
      const { wrong, count } = await abuse(coordinator, standing, placesOf, 12);
      expect(wrong).toEqual([]);
      expect(count).toBeGreaterThan(20);
    },
    longestMs,
  );

  it('is no document, and its parts are no other nodes', async () => {
    const { coordinator, paths } = newSpace();
    await coordinator.writeDocument('pins', 'text', 0, call);
    const heads = ['{}', '{"tenure":2}', head(-1, []), head(1.5, []), head(1, [{ toString: 1 }])];
    for (const text of [...heads, head(1, ['..']), head(1, ['']), head(1, ['../../granted'])]) {
      await admin.setData(paths.document('pins'), Buffer.from(text));
      await expect(coordinator.readDocument('pins', call), text).rejects.toThrow(
        RecordCorruptError,
      );
      const writing = coordinator.writeDocument('pins', 'new', 1, call);
      await expect(writing, text).rejects.toThrow(RecordCorruptError);
    }
  });
});

function head(version: number, parts: unknown[]): string {
  return JSON.stringify({ tenure: 1, version, parts });
}

/** The kinds of nodes sort alike for every name, though their ends are drawn. */
function byKind(one: string, other: string): number {
  return one < other ? -1 : 1;
}

function damages(valid: string, seed: number): string[] {
  // An empty node, or one that says nothing, is one that a name has before anything is written there, as one that was deleted.
  const foreign = foreignTexts.filter((text) => text !== '' && text !== '{"tenure":1}');
  const values = ['null', '"x"', '[]', '{"toString":1,"valueOf":1}', '1e999'];
  // Without lease, reservation and suspension it is the text of a free name, as if somebody had ended them.
  const saysSomething = (text: string) => /"(?:lease|after|suspension|ttlMs|holder)":/.test(text);
  const all = valid.startsWith('{') ? wrongJson(valid, values) : [];
  const fields = saysSomething(valid) ? all.filter(saysSomething) : all;
  return [
    ...fewOrAll(foreign, 2, seed),
    ...fewOrAll([valid.slice(0, -1), valid.slice(0, valid.length / 2)], 1, seed),
    ...fewOrAll(fields, 4, seed),
  ];
}

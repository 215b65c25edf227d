import { ZooKeeperPaths } from '../../coordinators/zookeeper/paths.js';
import { usualSessionMs, zookeeperPromises } from '../../coordinators/zookeeper/promises.js';
import { type Endpoint, endpointText } from '../../drivers/endpoint.js';
import type { ZooKeeperAddress } from '../../drivers/zookeeper/address.js';
import { ZooKeeperConnection } from '../../drivers/zookeeper/connection.js';
import {
  errorCode,
  isZooKeeperError,
  refusal,
  ZooKeeperError,
} from '../../drivers/zookeeper/errors.js';
import { StoreMisconfiguredError, UnreachableError } from '../../errors/index.js';
import { type Looked, seen, unseen } from '../check.js';
import type { Purpose } from '../finding.js';
import { sound } from '../soundings.js';
import { isLoopback } from '../way.js';
import type { ServerFacts, ZooKeeperFacts } from './facts.js';
import { askSrvr, readSrvr } from './srvr.js';

/** Where an ensemble keeps who takes part in it. */
const configNode = '/zookeeper/config';

/**
 * All that is asked of an ensemble. It makes no node; a session is opened on each server, and closed again.
 *
 * @throws {UnreachableError} if no server answers. @throws {StoreMisconfiguredError} if none lets us in.
 */
export async function lookAtEnsemble(
  address: ZooKeeperAddress,
  purpose: Purpose,
): Promise<ZooKeeperFacts> {
  const opened = await Promise.all(address.servers.map((server) => open(address, server, purpose)));
  try {
    const servers = await Promise.all(opened.map((one) => lookAtServer(one, purpose)));
    const answers = opened.filter((_, index) => servers[index]?.failure === undefined);
    const connection = (answers[0] ?? opened.find((one) => one.connection))?.connection;
    if (connection === undefined) return withoutMajority(address, servers, opened);
    const facts = await answered(connection, lookAtAll(connection, address, purpose), purpose);
    return { ...common(address), ...facts, servers, isServing: true };
  } finally {
    for (const { connection } of opened) connection?.endSession();
  }
}

interface Opened {
  readonly server: Endpoint;
  readonly connection?: ZooKeeperConnection;
  readonly error?: Error;
}

async function open(
  { login }: ZooKeeperAddress,
  server: Endpoint,
  { runtime, ttlMs, timeoutMs }: Purpose,
): Promise<Opened> {
  const limits = { sessionTimeoutMs: ttlMs, connectTimeoutMs: timeoutMs / 2 };
  try {
    return {
      server,
      connection: await ZooKeeperConnection.open({ runtime, server, login, ...limits }),
    };
  } catch (error) {
    return { server, error: error as Error };
  }
}

function noneAnswers(opened: readonly Opened[]): Error {
  const errors = opened.flatMap(({ error }) => error ?? []);
  const refused = errors.find((error) => error instanceof ZooKeeperError);
  if (refused !== undefined) return refusal('connecting', refused);
  return new UnreachableError(
    `no server gives a session: ${errors.map(({ message }) => message).join('; ')}.`,
  );
}

/** @throws why there is no session, unless it is that no server has a majority. */
function withoutMajority(
  address: ZooKeeperAddress,
  servers: readonly ServerFacts[],
  opened: readonly Opened[],
): ZooKeeperFacts {
  if (!servers.some(({ isIdle }) => isIdle)) throw noneAnswers(opened);
  const voters = unseen('no server serves requests', 'bring the others back first');
  const { chroot } = address;
  return { ...common(address), servers, isServing: false, voters, chroot };
}

async function lookAtServer(
  { server, connection, error }: Opened,
  purpose: Purpose,
): Promise<ServerFacts> {
  const address = endpointText(server);
  const text = await askSrvr(server, { ...purpose, timeoutMs: purpose.timeoutMs / 2 });
  if (error === undefined) {
    try {
      const ensemble = connection && (await answered(connection, ensembleOf(connection), purpose));
      return { address, ensemble, ...readSrvr(text) };
    } catch (failure) {
      if (!(failure instanceof UnreachableError)) throw failure;
      return { address, failure: failure.message.replace(/\.$/, '') };
    }
  }
  if (/not currently serving/.test(text))
    return { address, isIdle: true, failure: `${address}: it has no majority` };
  const { message } = error;
  return { address, failure: message.startsWith(address) ? message : `${address}: ${message}` };
}

async function lookAtAll(
  connection: ZooKeeperConnection,
  { chroot }: ZooKeeperAddress,
  purpose: Purpose,
) {
  await connection.sync('/');
  const soundings = await sound(purpose.runtime, async () => {
    // Through the leader, and a majority with it, as what is renewed goes.
    await connection.sync('/');
    return undefined;
  });
  return {
    soundings,
    grantedMs: connection.sessionTimeoutMs,
    voters: await lookAtVoters(connection),
    chroot,
    isChrootThere: chroot === '' || (await connection.exists(chroot)),
    mayWrite: await lookAtRights(connection, chroot, purpose.namespace),
  };
}

async function lookAtVoters(connection: ZooKeeperConnection): Promise<Looked<number>> {
  const servers = await ensembleOf(connection);
  if (servers === undefined)
    return unseen(
      `we may not read ${configNode}`,
      `grant it: \`zkCli.sh setAcl ${configNode} world:anyone:r\``,
    );
  return seen(servers.filter((line) => /:participant/.test(line)).length);
}

/** `server.1=host:2888:3888:participant;0.0.0.0:2181`; none: it is one alone. `undefined`: it may not be read. */
async function ensembleOf(connection: ZooKeeperConnection): Promise<string[] | undefined> {
  try {
    const { data } = await connection.getData(configNode);
    return (data.toString('utf8').match(/^server\.\d+=.*$/gm) ?? []).sort();
  } catch (error) {
    if (isZooKeeperError(error, errorCode.noAuth, errorCode.noNode)) return undefined;
    throw error;
  }
}

/**
 * A transaction whose last step always fails, so that nothing of it is done: it tells whether the first would have been.
 */
async function lookAtRights(
  connection: ZooKeeperConnection,
  chroot: string,
  namespace: string,
): Promise<boolean> {
  const { names, standing } = new ZooKeeperPaths(chroot, namespace);
  const parent = await lowestThere(connection, [
    ...standing.filter((path) => path !== names),
    names,
  ]);
  const path = `${parent === '/' ? '' : parent}/tenure-doctor-asks`;
  try {
    await connection.multi([
      { kind: 'create', path, data: Buffer.alloc(0), ephemeral: true },
      { kind: 'check', path: `${path}/never` },
    ]);
  } catch (error) {
    if (!(error instanceof ZooKeeperError)) throw error;
    return error.failedIndex !== 0;
  }
  return true;
}

/** The last of these nodes that is there, and else the root. */
async function lowestThere(
  connection: ZooKeeperConnection,
  paths: readonly string[],
): Promise<string> {
  let lowest = '/';
  for (const path of paths) if (await connection.exists(path)) lowest = path;
  return lowest;
}

/** The connection settles what is asked over it; that it takes too long is for us to say. */
async function answered<Value>(
  connection: ZooKeeperConnection,
  asked: Promise<Value>,
  { runtime, timeoutMs, signal }: Purpose,
): Promise<Value> {
  const stop = () => connection.destroy('it was closed here');
  signal.addEventListener('abort', stop);
  const timer = runtime.setTimer(timeoutMs * 2, () =>
    connection.destroy('it did not answer in time'),
  );
  try {
    return await asked;
  } catch (error) {
    if (error instanceof StoreMisconfiguredError) throw error;
    throw error instanceof ZooKeeperError
      ? refusal('the question', error)
      : new UnreachableError(`${endpointText(connection.server)}: ${(error as Error).message}.`);
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}

function common({ servers, login, smallestTtlMs, largestTtlMs }: ZooKeeperAddress) {
  const isLocal = servers.every(({ host }) => isLoopback(host));
  const { smallest, largest } = usualSessionMs;
  const user = login?.slice(0, login.indexOf(':'));
  return {
    promises: zookeeperPromises(smallestTtlMs ?? smallest, largestTtlMs ?? largest),
    way: {
      host: servers.map(endpointText).join(', '),
      ...{ isTls: false, isLocal, hasPassword: login !== undefined },
      tlsRemedy:
        'tenure speaks no TLS to ZooKeeper: let a tunnel, such as stunnel, begin on this machine, or keep the network between closed',
    },
    login: user === undefined ? ('none' as const) : { user },
    isLocal,
  };
}

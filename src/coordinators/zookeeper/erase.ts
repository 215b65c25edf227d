import {
  errorCode,
  isZooKeeperError,
  parseZooKeeperUrl,
  type ZooKeeperAddress,
  ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import { unreachable } from '../../errors/unanswered.js';
import { realRuntime } from '../../time/index.js';
import { ZooKeeperPaths } from './paths.js';

const connectTimeoutMs = 5_000;
const sessionTimeoutMs = 10_000;

/**
 * Deletes everything the leases of a namespace left on an ensemble. For namespaces of one run only, whose clients are all
 * gone.
 *
 * @throws {OptionError}, {@link UnreachableError} if no server answers; repeating it is harmless.
 */
export async function eraseZooKeeperLeases(url: string, namespace: string): Promise<void> {
  const address = parseZooKeeperUrl(url);
  const { root } = new ZooKeeperPaths(address.chroot, namespace);
  const connection = await connectTo(address);
  try {
    await removeTree(connection, root);
  } finally {
    connection.endSession();
  }
}

async function connectTo({ servers, login }: ZooKeeperAddress): Promise<ZooKeeperConnection> {
  let why: unknown;
  for (const server of servers) {
    const options = { runtime: realRuntime, server, login, sessionTimeoutMs, connectTimeoutMs };
    try {
      return await ZooKeeperConnection.open(options);
    } catch (error) {
      why = error;
    }
  }
  throw unreachable(undefined, 'no server of the ensemble answers. Check that one runs.', why);
}

/** What somebody else removes meanwhile is gone as well. */
async function removeTree(connection: ZooKeeperConnection, path: string): Promise<void> {
  try {
    for (const child of await connection.getChildren(path))
      await removeTree(connection, `${path}/${child}`);
    await connection.delete(path);
  } catch (error) {
    if (!isZooKeeperError(error, errorCode.noNode)) throw error;
  }
}

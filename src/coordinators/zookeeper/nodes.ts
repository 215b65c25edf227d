import {
  errorCode,
  isZooKeeperError,
  type NodeContent,
  type NodeEvent,
  type ZooKeeperConnection,
} from '../../drivers/zookeeper/index.js';
import type { Call } from './call.js';

export async function nodeOrNothing(
  call: Pick<Call, 'ask'>,
  connection: ZooKeeperConnection,
  path: string,
  watch?: (event: NodeEvent) => void,
): Promise<NodeContent | undefined> {
  return call.ask(connection, () => connection.getData(path, watch)).catch(nothingWithoutNode);
}

/** The children of a node; none if it is not there. */
export async function childrenOf(
  call: Pick<Call, 'ask'>,
  connection: ZooKeeperConnection,
  path: string,
): Promise<readonly string[]> {
  const children = await call
    .ask(connection, () => connection.getChildren(path))
    .catch(nothingWithoutNode);
  return children ?? [];
}

export function nothingWithoutNode(error: unknown): undefined {
  if (isZooKeeperError(error, errorCode.noNode)) return undefined;
  throw error;
}

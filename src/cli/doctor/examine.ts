import { resolve } from 'node:path';
import type { Examination, Purpose } from '../../doctor/finding.js';
import { OptionError } from '../../errors/index.js';
import { realRuntime } from '../../time/index.js';
import { orAborted } from '../heard.js';
import { naming, placesIn } from '../naming.js';
import { schemaOf, withSchema } from '../postgres-url.js';
import { call } from '../session.js';
import type { Setting } from '../settings/index.js';
import { defaultSource } from '../settings/setting.js';
import { addressOf, checkUrl, filePathOf, storeKindOf, urlForms } from '../store-url.js';

export interface Examined extends Examination {
  /** For people: never with a password. */
  readonly address: string;
  readonly namespace: string;
  readonly ttlMs: number;
}

/** Loads what examines a store of this kind, and no other. @throws {OptionError} */
export async function examine(
  { value: url, source }: Setting<string>,
  namespace: string,
  ttlMs: number,
  signal: AbortSignal,
): Promise<Examined> {
  checkUrl(url, source);
  const purpose = { namespace, ttlMs, signal, runtime: realRuntime, timeoutMs: call.timeoutMs };
  const examination = await orAborted(
    naming(placesIn(source), () => examineStore(url, source, purpose)),
    signal,
  );
  return { ...examination, address: addressOf(url), namespace, ttlMs };
}

async function examineStore(url: string, source: string, purpose: Purpose): Promise<Examination> {
  const kind = storeKindOf(url, source);
  switch (kind) {
    case 'redis':
    case 'sentinel':
    case 'cluster': {
      const { examineRedis } = await import('../../doctor/redis/index.js');
      return await examineRedis(url, purpose);
    }
    case 'etcd': {
      const { examineEtcd } = await import('../../doctor/etcd/index.js');
      return await examineEtcd(url, purpose);
    }
    case 'postgres': {
      const { examinePostgres } = await import('../../doctor/postgres/index.js');
      const schema = schemaOf(url);
      return await examinePostgres(withSchema(url, undefined), { ...purpose, schema });
    }
    case 'sqlite': {
      const { examineSqlite } = await import('../../doctor/sqlite/index.js');
      // As for everybody else, the folder of the default is ours to make.
      const createDirectory = source === defaultSource;
      const path = resolve(filePathOf(url, source));
      return await examineSqlite(path, { ...purpose, createDirectory });
    }
    case 'zookeeper': {
      const { examineZooKeeper } = await import('../../doctor/zookeeper/index.js');
      return await examineZooKeeper(url, purpose);
    }
    case 'quorum': {
      const { examineQuorum } = await import('../../doctor/redis/index.js');
      return await examineQuorum(url, purpose);
    }
    case 'memory':
      throw new OptionError(source, url, 'is a memory of one process', `use ${urlForms}`);
  }
}

/** The kinds of store that the URL of leases can name. */
export type StoreKind = 'memory' | SharedKind;

/** Those that several processes can see. */
export type SharedKind = (typeof sharedKinds)[number];

const sharedKinds = [
  'sqlite',
  'postgres',
  'etcd',
  'zookeeper',
  'redis',
  'sentinel',
  'cluster',
  'quorum',
] as const;

/** How their URLs look, for help and remedies. */
export const sharedForms: Readonly<Record<SharedKind, string>> = {
  sqlite: 'sqlite:PATH',
  postgres: 'postgres://host:port/database',
  etcd: 'etcd://host:port,host:port',
  zookeeper: 'zookeeper://host:port,host:port/chroot',
  redis: 'redis://host:port',
  sentinel: 'redis+sentinel://host:port,host:port/master',
  cluster: 'redis+cluster://host:port,host:port',
  quorum: 'redis+quorum://host:port,host:port,host:port',
};

const kinds: Readonly<Record<string, StoreKind>> = {
  'memory:': 'memory',
  'sqlite:': 'sqlite',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
  'etcd:': 'etcd',
  'etcds:': 'etcd',
  'zookeeper:': 'zookeeper',
  'redis:': 'redis',
  'rediss:': 'redis',
  'redis+sentinel:': 'sentinel',
  'rediss+sentinel:': 'sentinel',
  'redis+cluster:': 'cluster',
  'rediss+cluster:': 'cluster',
  'redis+quorum:': 'quorum',
  'rediss+quorum:': 'quorum',
};

/** Without their colons. */
export const schemes: readonly string[] = Object.keys(kinds).map((scheme) => scheme.slice(0, -1));

const listKinds: readonly StoreKind[] = ['etcd', 'zookeeper', 'sentinel', 'cluster', 'quorum'];

/** @param scheme with its colon, in lower case. */
export function kindOf(scheme: string): StoreKind | undefined {
  return Object.hasOwn(kinds, scheme) ? kinds[scheme] : undefined;
}

/** Whether a URL of this kind may name several hosts with a port each, and so is none to the platform's parser. */
export function mayListHosts(kind: StoreKind): kind is SharedKind {
  return listKinds.includes(kind);
}

/** The kind that the URL's scheme names, if URLs of it may list hosts. */
export function listKindOf(url: string): SharedKind | undefined {
  const [scheme = ''] = /^[a-z][a-z\d+.-]*:/.exec(url.trim().toLowerCase()) ?? [];
  const kind = kindOf(scheme);
  return kind !== undefined && mayListHosts(kind) ? kind : undefined;
}

/**
 * Who may import whom. Imports point down this list only; folders on one line are siblings that do
 * not import each other. Type-only and dynamic imports count: what the types of a room mention is
 * part of what the room depends on.
 */
const LAYERS = [
  ['cli'],
  ['sim'],
  ['testing'],
  ['adapters', 'metrics', 'diagnosis', 'doctor'],
  ['streams', 'schedule'],
  ['fences', 'once', 'shards', 'elections'],
  ['leases'],
  ['coordinators'],
  ['conformance'],
  ['drivers'],
  ['time', 'events'],
  ['errors'],
];

/** Rooms that are entry points as well: `src/<name>.ts` belongs to `src/<name>/`, and imports other entries. */
const KITS = ['sim', 'testing'];

/** Public entry points, `src/<name>.ts`. They sit between `testing` and `streams`. */
const ENTRIES = [
  'index',
  'memory',
  'sqlite',
  'redis',
  'postgres',
  'mysql',
  'etcd',
  'zookeeper',
  'http',
  'schedule',
  'node-cron',
  'nestjs',
  'log',
  'prometheus',
  'otel',
  'testing',
  'sim',
];

/** What is published may import these packages, Node, and nothing else; all but the first three are optional. */
const PACKAGES = [
  ...['commander', 'croner', 'yaml'],
  ...['ioredis', 'redis', 'pg', 'mysql2', 'libsql'],
  ...['@nestjs/common', '@nestjs/core', 'prom-client', '@opentelemetry/api'],
];

/** The only rooms that may know a store's client, and the folder of drivers they may use for it. */
const STORES = [
  {
    store: 'redis',
    clients: ['ioredis', 'redis'],
    rooms: [
      'coordinators/redis',
      'coordinators/redis-quorum',
      'streams/redis',
      'fences/redis',
      'once/redis',
      'schedule/redis',
      'doctor/redis',
    ],
  },
  {
    store: 'postgres',
    clients: ['pg'],
    rooms: [
      'coordinators/postgres',
      'fences/postgres',
      'once/postgres',
      'schedule/postgres',
      'doctor/postgres',
    ],
  },
  { store: 'mysql', clients: ['mysql2'], rooms: ['fences/mysql'] },
  {
    store: 'sqlite',
    clients: ['libsql'],
    rooms: [
      'coordinators/sqlite',
      'fences/sqlite',
      'once/sqlite',
      'schedule/sqlite',
      'doctor/sqlite',
    ],
  },
  { store: 'etcd', clients: [], rooms: ['coordinators/etcd', 'fences/etcd', 'doctor/etcd'] },
  { store: 'zookeeper', clients: [], rooms: ['coordinators/zookeeper', 'doctor/zookeeper'] },
];

const oneOf = (names) => `(?:${names.join('|')})`;
const folder = (names) => `^src/${oneOf(names)}/`;
/** A kit is a file and a folder. */
const room = (names) => (KITS.includes(names[0]) ? `^src/${names[0]}(?:/|\\.ts$)` : folder(names));
/** A package, resolved (also through a types package, or pnpm's layout) or not found at all. */
const npmPackage = (name) => `(?:^|/)node_modules/(?:@types/)?${name}(?:/|$)|^${name}$`;

const storeNames = STORES.map(({ store }) => store);
const plainEntries = ENTRIES.filter((name) => !KITS.includes(name));
const entryFiles = `^src/${oneOf(plainEntries)}\\.ts$`;

const layerRules = LAYERS.flatMap((siblings, depth) =>
  siblings.map((name) => {
    const siblingsOfIt = siblings.filter((other) => other !== name);
    const notBelow = [...LAYERS.slice(0, depth).flat(), ...siblingsOfIt];
    const above = notBelow.map((other) => room([other]));
    if (name !== 'cli' && !KITS.includes(name)) above.push(entryFiles);
    return {
      name: `layer-${name}-imports-down-only`,
      comment: `src/${name} may import only layers below it.`,
      severity: 'error',
      from: { path: room([name]) },
      to: { path: above.length > 0 ? above : '^$' },
    };
  }),
);

const storeRules = STORES.flatMap(({ store, clients, rooms }) => {
  const allowed = [`^src/drivers/${store}/`, ...rooms.map((path) => `^src/${path}/`)];
  return [
    ...clients.map((client) => ({
      name: `client-${client}-only-in-its-store-rooms`,
      comment: `Only ${[...rooms, `drivers/${store}`].join(', ')} may import ${client}.`,
      severity: 'error',
      from: { path: '^src/', pathNot: allowed },
      to: { path: npmPackage(client) },
    })),
    {
      name: `driver-${store}-only-in-its-store-rooms`,
      comment: `Only ${rooms.join(', ')} may import drivers/${store}.`,
      severity: 'error',
      from: { path: '^src/', pathNot: allowed },
      to: { path: `^src/drivers/${store}(?:/|\\.ts$)` },
    },
  ];
});

module.exports = {
  forbidden: [
    ...layerRules,
    ...storeRules,
    {
      name: 'entry-imports-no-face',
      comment: 'A public entry point may not pull in the command line or the test kit.',
      severity: 'error',
      from: { path: entryFiles },
      to: { path: ['^src/cli/', ...KITS.map((name) => room([name]))] },
    },
    {
      name: 'core-entry-is-store-free',
      comment: 'Whoever imports "tenure" loads no store, no client, no driver and no command line.',
      severity: 'error',
      from: { path: '^src/index\\.ts$' },
      to: {
        reachable: true,
        path: [
          '^src/(?:cli|drivers|doctor|sim|testing)(?:/|\\.ts$)',
          `^src/[^/]+/(?:memory|redis-quorum|${oneOf(storeNames)})(?:/|\\.ts$)`,
          `^src/(?:memory|${oneOf(storeNames)})\\.ts$`,
          ...PACKAGES.map(npmPackage),
        ],
      },
    },
    {
      name: 'no-cycles',
      comment: 'A cycle has no bottom to start reading from.',
      severity: 'error',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'nestjs-only-in-its-adapter',
      comment: 'Whoever uses no NestJS has none.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/adapters/nestjs/' },
      to: { path: npmPackage('@nestjs/(?:common|core)') },
    },
    {
      name: 'metrics-clients-only-in-their-rooms',
      comment: 'Whoever uses one kind of metrics installs no other.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/metrics/(?:prometheus|otel)/' },
      to: { path: [npmPackage('prom-client'), npmPackage('@opentelemetry/api')] },
    },
    {
      name: 'commander-only-in-cli',
      comment: 'The command line parser stays out of the library.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: npmPackage('commander') },
    },
    {
      name: 'no-undeclared-packages',
      comment: 'What is published may import only Node, commander and the optional clients.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        path: 'node_modules/',
        pathNot: PACKAGES.map(npmPackage),
      },
    },
    {
      name: 'no-unresolvable-imports',
      comment: 'An import that cannot be found cannot be checked either.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        couldNotResolve: true,
        pathNot: PACKAGES.map(npmPackage),
      },
    },
    {
      name: 'src-stays-inside-src',
      comment: 'The package does not ship tests, scripts or examples.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(?:tests|scripts|examples|bench|dist)/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // What every module that names a type of Node's depends on, and no program.
    exclude: { path: 'node_modules/@types/node/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'node', 'default'],
      mainFields: ['types', 'main'],
    },
  },
  // Read by scripts/layers.mjs, which refuses a file that belongs to no room.
  rooms: [...LAYERS.flat().map((name) => room([name])), entryFiles],
};

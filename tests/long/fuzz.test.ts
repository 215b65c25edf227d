/*
 * The files of `tests/fuzz` once more, with each way to meddle with each record that they know, and 5,000 of those that are
 * drawn for each text, 20,000 pairs of names.
 */

process.env.TENURE_LONG_FUZZ = '1';
for (const file of [
  'parsers',
  'names',
  'used-names',
  'stream-records',
  'fence-records',
  'redis-quorum',
])
  await import(`../fuzz/${file}.test.js`);
for (const store of ['sqlite', 'redis', 'postgres', 'etcd', 'zookeeper'])
  await import(`../fuzz/${store}.test.js`);

/*
 * The files of `tests/fuzz` once more, with each way to meddle with each record that they know, and 5,000 of those that are
 * drawn for each text, 20,000 pairs of names.
 */

process.env.TENURE_LONG_FUZZ = '1';
await import('../fuzz/parsers.test.js');
await import('../fuzz/names.test.js');
await import('../fuzz/used-names.test.js');
await import('../fuzz/stream-records.test.js');
await import('../fuzz/fence-records.test.js');
await import('../fuzz/redis-quorum.test.js');
await import('../fuzz/sqlite.test.js');
await import('../fuzz/redis.test.js');
await import('../fuzz/postgres.test.js');
await import('../fuzz/etcd.test.js');

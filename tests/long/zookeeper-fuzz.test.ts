/* As `fuzz.test.ts`, in a file of its own: the session of an operator ends while nobody has anything to do in it. */

process.env.TENURE_LONG_FUZZ = '1';
await import('../fuzz/zookeeper.test.js');

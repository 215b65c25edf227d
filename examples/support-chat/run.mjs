// @ts-check
/**
 * The whole example at once: `node examples/support-chat/run.mjs`. Two gateways, four workers and twelve talkative
 * customers; one gateway and one worker are killed, another worker is frozen and woken. Then PostgreSQL is asked
 * whether every message has its answer, once and in order. Exit code 0 if so, 1 if not.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Program } from './program.mjs';

// A fleet of its own, so that one you started by hand is not disturbed. Programs read this when they start.
process.env.NAMESPACE = `support_chat_run_${randomBytes(4).toString('hex')}`;
process.env.TTL_MS ??= '2000';
const { namespace, redisUrl, ttlMs } = await import('./settings.mjs');
const { openDatabase } = await import('./stores.mjs');

const customers = Array.from({ length: 12 }, (_, index) => `customer-${index + 1}`);
const messagesEach = 12;
const messageCount = customers.length * messagesEach;
const limitMs = 60_000;

/**
 * Posts a message until a gateway has stored it. The id is the same in every try, so that it is stored once.
 *
 * @param {string[]} gateways
 * @param {{ customer: string, id: string, text: string }} message
 */
async function send(gateways, message) {
  for (let attempt = 0; attempt < 100; attempt++) {
    const url = `${gateways[attempt % gateways.length]}/messages`;
    const options = {
      method: 'POST',
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(2_000),
    };
    const response = await fetch(url, options).catch(() => undefined);
    await response?.text();
    if (response?.status === 202) return;
    await sleep(100);
  }
  throw new Error(`no gateway stored ${message.id} of ${message.customer}`);
}

/** @param {string[]} gateways @param {string} customer */
async function talk(gateways, customer) {
  for (let number = 1; number <= messagesEach; number++) {
    const message = { customer, id: `message-${number}`, text: `question ${number}` };
    await send(gateways, message);
    // Impatient people press the button twice, and the second time somebody else is asked.
    if (number % 4 === 0) await send([...gateways].reverse(), message);
    await sleep(200);
  }
}

/** Removes what this run leaves in both stores. */
async function erase() {
  await pool.query(`DROP SCHEMA ${namespace} CASCADE`);
  const redis = new Redis(redisUrl);
  const match = `{tenure:${namespace}[:}]*`;
  for await (const keys of redis.scanStream({ match, count: 1_000 })) {
    if (keys.length > 0) await redis.unlink(...keys);
  }
  await redis.quit();
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const { pool, close } = await openDatabase();

/** @param {string} query @returns {Promise<number>} */
async function count(query) {
  const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${query}`);
  return rows[0].count;
}

/** @param {number} share of all messages */
async function answered(share) {
  const startedMs = performance.now();
  while ((await count('answers')) < messageCount * share) {
    if (performance.now() - startedMs > limitMs) return;
    await sleep(50);
  }
}

const gateways = [new Program('gateway.mjs', '0'), new Program('gateway.mjs', '0')];
const workers = ['anna', 'ben', 'cleo'].map((id) => new Program('worker.mjs', id));
const urls = await Promise.all(gateways.map((gateway) => gateway.says(/^gateway on (\S+),/)));
await Promise.all(workers.map((worker) => worker.says(/is ready/)));
const [anna, ben] = workers;
console.log(`two gateways and three workers run; ${messageCount} messages come`);
const conversations = Promise.all(customers.map((customer) => talk(urls, customer)));

await answered(0.15);
anna?.signal('SIGKILL');
gateways[0]?.signal('SIGKILL');
console.log('anna and the first gateway are killed');

await answered(0.3);
ben?.signal('SIGSTOP');
console.log('ben is frozen');
await sleep(2 * ttlMs);
ben?.signal('SIGCONT');
workers.push(new Program('worker.mjs', 'dora'));
console.log(`ben is woken after ${2 * ttlMs} ms, dora joins`);

await conversations;
await answered(1);
await Promise.all([...workers, ...gateways].map((program) => program.end()));

const findings = {
  'messages that are missing': messageCount - (await count('messages')),
  'messages left in the outbox': await count('messages WHERE published_at IS NULL'),
  'messages without an answer': messageCount - (await count('answers')),
  'messages without a mail': messageCount - (await count('mails')),
  'answers out of order': await count(
    `(SELECT seq < lag(seq) OVER (PARTITION BY run_id ORDER BY position) AS is_wrong FROM answers) a WHERE is_wrong`,
  ),
  'answers under an old term': await count(
    `(SELECT term < lag(term) OVER (PARTITION BY shard ORDER BY position) AS is_wrong FROM answers) a WHERE is_wrong`,
  ),
};
const owners = await count('(SELECT DISTINCT shard, term FROM answers) a');
const shards = await count('(SELECT DISTINCT shard FROM answers) a');
const repeated = await count('mails WHERE request_count > 1');
const refused = workers.flatMap(({ lines }) => lines).filter((line) => line.includes('REFUSED'));
console.log(`changes of a shard's owner: ${owners - shards}`);
console.log(`mails asked for again: ${repeated}`);
console.log(`writes refused: ${refused.length}`);
for (const line of refused) console.log(`  ${line}`);
console.table(findings);

const isGood = Object.values(findings).every((found) => found === 0);
if (isGood) await erase();
else console.log(`the tables are left in schema ${namespace}`);
await close();
console.log(
  isGood ? 'every message was answered once and in order' : 'this is not what was promised',
);
process.exitCode = isGood ? 0 : 1;

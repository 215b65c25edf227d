// @ts-check
/**
 * A ledger that others write to over HTTP: `POST /accounts/acme/deposits` with a number of cents, `GET /accounts/acme`.
 *
 *     node examples/http-fence/service.mjs [port]
 *
 * It is fenced twice: at the door, which turns a stale owner away early, and in the transaction that writes, which is what
 * keeps the balance right.
 */
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { StaleTermError } from 'tenure';
import { fencingTokenOf, nodeFence, problemOf } from 'tenure/http';
import { MemoryResource, memoryFence } from 'tenure/memory';

const accounts = ['acme', 'umbrella'];

/** @param {number} port */
export async function startService(port) {
  // Balances and terms are in memory, and gone with the process; `tenure/postgres` has a fence that keeps them.
  const balances = new MemoryResource();
  const fence = memoryFence(balances);
  const resource = (/** @type {import('node:http').IncomingMessage} */ { url = '' }) => {
    const account = accountOf(url);
    return account && `ledger/${account}`;
  };

  const server = createServer(
    nodeFence({ fence, resource }, async (request, response) => {
      const account = accountOf(request.url ?? '');
      if (account === undefined) return void response.writeHead(404).end();
      const token = fencingTokenOf(request);
      if (token === undefined) return void response.end(`${balanceOf(account)} cents\n`);
      const cents = Number(await textOf(request));
      if (!Number.isSafeInteger(cents)) return void response.writeHead(422).end();
      try {
        // Since it was admitted, this request may have waited for anything; here it is judged with the write.
        await fence.transaction(token, async (transaction) => {
          const before = /** @type {number} */ (transaction.get(account) ?? 0);
          transaction.set(account, before + cents);
        });
        response.end(`${balanceOf(account)} cents\n`);
      } catch (error) {
        if (!(error instanceof StaleTermError)) throw error;
        response.writeHead(409, { 'content-type': 'application/problem+json' });
        response.end(JSON.stringify(problemOf(error)));
      }
    }),
  );
  await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(undefined)));
  return server;

  /** @param {string} account */
  function balanceOf(account) {
    return balances.read(account) ?? 0;
  }
}

/**
 * Only what exists: a client cannot fill the fence with names.
 *
 * @param {string} url
 */
function accountOf(url) {
  const [, account = ''] = /^\/accounts\/([^/]+)(?:\/deposits)?$/.exec(url) ?? [];
  return accounts.includes(account) ? account : undefined;
}

/** @param {import('node:http').IncomingMessage} request */
async function textOf(request) {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const server = await startService(Number(process.argv[2] ?? 8080));
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  console.log(`ledger on http://127.0.0.1:${address.port}`);
}

/**
 * `node records-imports.mjs SPECIFIER`: imports it and prints, as JSON, the npm packages that were
 * loaded on the way, by `import` and by `require`.
 */
import { createRequire, register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';

const { port1, port2 } = new MessageChannel();
const hooks = `
  let port;
  export const initialize = (data) => { port = data; };
  export const load = (url, context, next) => { port.postMessage(url); return next(url, context); };
`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  data: port2,
  transferList: [port2],
});

await import(process.argv[2] ?? '');

/** @type {string[]} */
const loaded = Object.keys(createRequire(import.meta.url).cache);
for (let next = receiveMessageOnPort(port1); next; next = receiveMessageOnPort(port1)) {
  loaded.push(next.message);
}
const names = loaded.flatMap(
  (place) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(place)?.[1] ?? [],
);
console.log(JSON.stringify([...new Set(names)].sort()));
process.exit(0);

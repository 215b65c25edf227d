/** A thread that reads its clock when it is asked, by the origin it was given. Started by clock.test.ts. */
import { register } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

register('../../support/typescript-hooks.mjs', import.meta.url);
const { runtimeWithOrigin } = await import('../../../src/time/index.js');

const runtime = runtimeWithOrigin(workerData);
parentPort?.on('message', () => parentPort?.postMessage(runtime.now()));
parentPort?.postMessage('ready');

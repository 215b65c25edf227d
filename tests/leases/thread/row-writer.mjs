/** A thread that writes a shared row without a pause: 1, 1, 1, then 2, 2, 2, and so on. Started by shared-row.test.ts. */
import { register } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';

register('../../support/typescript-hooks.mjs', import.meta.url);
const { SharedRow } = await import('../../../src/leases/thread/shared-row.js');

const row = new SharedRow(workerData);
parentPort?.postMessage('writing');
for (let count = 1; ; count++) row.write([count, count, count]);

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { leaseSchema } from '../../src/coordinators/sqlite/schema.js';
import { SqliteSession } from '../../src/drivers/sqlite/index.js';
import { registerOnceConformance } from '../../src/once/conformance/index.js';
import { sqliteOnce } from '../../src/once/sqlite/index.js';
import { realRuntime } from '../../src/time/index.js';

const noWay = 'there is no way between a process and its file on which something could be lost';

registerOnceConformance(
  {
    name: 'sqlite',
    impossible: { loseReplies: noWay, holdRequests: noWay, cut: noWay },
    create: async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tenure-once-'));
      const path = join(folder, 'once.db');
      const [store, other] = [sqliteOnce(path), sqliteOnce(path)];
      const user = new SqliteSession({
        ...{ what: 'a user', path, schema: leaseSchema, runtime: realRuntime },
        createDirectory: false,
      });
      return {
        ...{ store, other },
        pass: (durationMs) => new Promise((resolve) => setTimeout(resolve, durationMs + 5)),
        until: (promise) => promise,
        controls: {
          heal: async () => {},
          expire: (key) =>
            user.call('expire', 'write', 5_000, (transaction) => {
              transaction.run(
                "UPDATE once_key SET expires_at_ms = 1, record = json_set(record, '$.expiresAtMs', 1) WHERE key = ?",
                key,
              );
            }),
          setBack: (key, durationMs) =>
            user.call('setBack', 'write', 5_000, (transaction) => {
              const later = (field: string) =>
                `'$.${field}', record ->> '$.${field}' + ${durationMs}`;
              transaction.run(
                `UPDATE once_key SET deadline_at_ms = deadline_at_ms + ${durationMs}, expires_at_ms = expires_at_ms + ${durationMs},
                  record = json_set(record, ${['startedAtMs', 'deadlineAtMs', 'expiresAtMs'].map(later).join(', ')}) WHERE key = ?`,
                key,
              );
            }),
        },
        close: async () => {
          await Promise.all([store.close(), other.close()]);
          user.close();
          rmSync(folder, { recursive: true });
        },
      };
    },
  },
  { describe: describe.concurrent, it },
);

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuilt, root } from '../../scripts/bootstrap.mjs';

// The command line is tested as it is shipped. `npm test` has built it; a run of these files alone may not have.
ensureBuilt();

export const main = join(root, 'dist/cli/main.js');

export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Outcome>;
  /** Resolves when the text has been printed; rejects if the command ends before. */
  printed(text: string): Promise<void>;
  /** Ids of the processes it started and that are still there. */
  descendants(): number[];
}

/** So many commands of one test file run side by side; more would only keep each other from being in time. */
const parallelCommands = 3;
const running = new Set<Promise<unknown>>();

/** Runs `tenure` with these arguments. Its streams are pipes, so it is not in a terminal. */
export async function tenure(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Outcome> {
  while (running.size >= parallelCommands) await Promise.race(running);
  const { ended } = startTenure(args, env);
  running.add(ended);
  return await ended.finally(() => running.delete(ended));
}

/** What `tenure selftest` says once the machine was quick enough for a verdict: 75 says that it was not. */
export async function selftest(args: readonly string[]): Promise<Outcome> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await tenure(['selftest', ...args]);
    if (outcome.status !== 75 || attempt === 4) return outcome;
  }
}

export function startTenure(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  // All that descends from it carries the mark, whoever its parent is by then.
  const mark = randomBytes(8).toString('hex');
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...plainEnvironment(), ...env, TENURE_TEST_MARK: mark },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const watcher of [...watchers]) watcher();
    });
  }
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
  return {
    process: child,
    ended,
    async printed(text) {
      const seen = new Promise<void>((resolve) => {
        const look = () => {
          if (!output.stdout.includes(text)) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      });
      const end = ended.then(({ status, stderr }) => {
        if (!output.stdout.includes(text))
          throw new Error(`ended with ${status} before it printed "${text}": ${stderr}`);
      });
      const late = sleep(60_000, undefined, { ref: false }).then(() => {
        throw new Error(`has not printed "${text}" in a minute: ${output.stdout}${output.stderr}`);
      });
      await Promise.race([seen, end, late]);
    },
    descendants: () => marked(mark).filter((pid) => pid !== child.pid),
  };
}

/** What this process was given, but for what the command line reads. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env);
  return Object.fromEntries(entries.filter(([name]) => !/^(TENURE_|REDIS_URL$)/.test(name)));
}

function marked(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });
}

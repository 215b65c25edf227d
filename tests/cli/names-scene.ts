import { join } from 'node:path';
import { expect } from 'vitest';
import { realRuntime } from '../../src/time/index.js';
import { NodeProgram } from '../support/node-program.js';
import { startInside } from './command-inside.js';
import { type Outcome, startTenure, tenure } from './command-line.js';

const candidateFile = join(import.meta.dirname, 'candidate.mjs');

interface RunningCommand {
  readonly ended: Promise<Outcome>;
  printed(text: string): Promise<void>;
  interrupt(): void;
}

/** A namespace of a store, with candidates for the name `payments`, and the commands that look at it. */
export class NamesScene {
  /** For the environment of a command. */
  readonly settings: Readonly<Record<string, string>>;
  readonly #url: string;
  readonly #namespace = `names-${realRuntime.randomHex(4)}`;
  readonly #programs: NodeProgram[] = [];
  readonly #isInside: boolean;

  /** @param where commands run: in processes of their own, or within this one. */
  constructor(url: string, where: 'processes' | 'inside' = 'processes') {
    this.#url = url;
    this.#isInside = where === 'inside';
    this.settings = { TENURE_URL: url, TENURE_NAMESPACE: this.#namespace, TENURE_BY: 'ana@desk' };
  }

  cli(...args: string[]): Promise<Outcome> {
    return this.#isInside ? startInside(this.#placed(args)).ended : tenure(args, this.settings);
  }

  start(...args: string[]): RunningCommand {
    if (this.#isInside) return startInside(this.#placed(args));
    const running = startTenure(args, this.settings);
    return {
      ended: running.ended,
      printed: (text) => running.printed(text),
      interrupt: () => void running.process.kill('SIGINT'),
    };
  }

  #placed([command = '', ...rest]: readonly string[]): string[] {
    const by = ['handoff', 'revoke', 'suspend', 'resume'].includes(command);
    return [
      command,
      ...rest,
      ...['--url', this.#url, '--namespace', this.#namespace],
      ...(by ? ['--by', 'ana@desk'] : []),
    ];
  }

  async candidate(id: string, ttlMs: number): Promise<NodeProgram> {
    const words = [candidateFile, this.#url, this.#namespace, id, 'payments', `${ttlMs}`] as const;
    const program = new NodeProgram(words);
    this.#programs.push(program);
    await program.says(/^ready$/);
    return program;
  }

  /** Until a command's answer is as wanted: what a process did arrives there a moment later. */
  async eventually(args: string[], wanted: RegExp): Promise<string> {
    const startedMs = performance.now();
    for (;;) {
      const { stdout, stderr } = await this.cli(...args);
      if (wanted.test(stdout)) return stdout;
      if (performance.now() - startedMs > 20_000)
        throw new Error(`waited in vain for ${wanted} in ${stdout}${stderr}`);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#programs.splice(0).map((program) => program.kill()));
  }
}

/** Every command about names, on whatever store: one leads, one waits; a handoff, a suspension, a crash. */
export async function tellStory(scene: NamesScene, ttlMs: number): Promise<void> {
  const cli = (...args: string[]) => scene.cli(...args);
  const candidate = (id: string) => scene.candidate(id, ttlMs);
  const eventually = (args: string[], wanted: RegExp) => scene.eventually(args, wanted);
  const free = await cli('who', 'payments');
  expect(free).toMatchObject({ status: 1, stdout: '' });
  expect(free.stderr).toMatch(/^tenure who: nobody holds payments: it is free\n {2}at: {3}/);
  const first = await candidate('replica-1');
  const [, term = ''] = await first.says(/^leads (\d+)$/);
  expect(await cli('who', 'payments')).toEqual({ status: 0, stdout: 'replica-1\n', stderr: '' });
  const watching = scene.start('watch', 'payments', '-o', 'jsonl');
  await watching.printed('"holderId":"replica-1"');

  const second = await candidate('replica-2');
  await eventually(['candidates', 'payments'], /^1 +replica-2 +waiting/m);
  expect((await cli('candidates', 'payments')).stdout).toMatch(/^- +replica-1 +leads/m);
  const { names } = JSON.parse((await cli('status', '-o', 'json')).stdout);
  expect(names).toMatchObject([
    { name: 'payments', state: 'held', holderId: 'replica-1', term: Number(term), ttlMs },
  ]);

  const handoff = await cli('handoff', 'payments', '--to', 'replica-2', '--yes');
  expect(handoff, handoff.stderr + handoff.stdout).toMatchObject({ status: 0 });
  expect(handoff.stdout).toContain('now it is held by replica-2');
  expect(handoff.stderr).not.toContain('risk:');
  await first.says(/^ends revoked$/);
  const [, secondTerm = ''] = await second.says(/^leads (\d+)$/);
  await watching.printed('"holderId":"replica-2"');

  const suspend = await cli('suspend', 'payments', '--reason', 'INC-12', '--yes');
  expect(suspend).toMatchObject({
    status: 0,
    stdout: 'payments is suspended, and nobody holds it\n',
  });
  expect(await cli('who', 'payments')).toEqual({
    status: 1,
    stdout: '',
    stderr: 'tenure who: nobody holds payments: it is suspended by ana@desk: INC-12\n',
  });
  await watching.printed('"state":"suspended"');

  await first.kill();
  const resume = await cli('resume', 'payments', '--reason', 'INC-12 is over');
  expect(resume, resume.stderr).toMatchObject({ status: 0 });
  // Who lost it to an operator leaves it to others for a moment, and may not be back yet.
  expect(resume.stdout).toMatch(/^payments is resumed: (?:free|held by replica-2, term \d+)\n$/);
  await second.says(new RegExp(`^leads (?!${secondTerm}$)\\d+$`));

  await second.kill();
  const history = await eventually(['history', 'payments'], /^\S+ +term.*expired$/m);
  const ledTerms = [...first.lines, ...second.lines].flatMap(
    (line) => /^leads (\d+)$/.exec(line)?.[1] ?? [],
  );
  expect(
    history
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ {2,}/)[1] ?? '')
      // On a busy machine a candidate gives back what it was granted too late, and never leads by it.
      .filter((what) => !/^term/.test(what) || ledTerms.includes(what.slice('term '.length))),
    history,
  ).toEqual([
    `term ${term}`,
    'revoke for replica-2',
    expect.stringMatching(/^term/),
    'suspend',
    'resume',
    expect.stringMatching(/^term/),
  ]);
  watching.interrupt();
  const { status, stderr } = await watching.ended;
  expect({ status, stderr }).toEqual({ status: 130, stderr: '' });
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobStore, Jobs, type RunRecord } from '../../../src/schedule/index.js';
import { sqliteJobs } from '../../../src/schedule/sqlite/index.js';
import { until } from '../../support/until.js';
import { killQuietly, type Mark, pulse, readMarks, Wrapper } from '../run/harness.js';

/** For a test of a takeover, which waits until a lease has expired. All others have time. */
export const shortTtl = ['--ttl', '4s'];
/** Due on one day of the year alone, so that nothing begins but by hand. */
export const yearly = '0 3 1 1 *';
export const act = { by: 'ana', reason: 'test' };

/** One file of jobs, one store in a file, and every `tenure schedule` that works on both. */
export class ScheduleScene {
  readonly folder = mkdtempSync(join(tmpdir(), 'tenure-schedule-'));
  readonly marksFile = join(this.folder, 'marks');
  readonly jobs: Jobs;
  readonly #store: JobStore;
  readonly #wrappers: Wrapper[] = [];

  constructor(jobs: object) {
    // JSON is YAML.
    writeFileSync(join(this.folder, 'jobs.yaml'), JSON.stringify({ jobs }));
    this.#store = sqliteJobs(join(this.folder, 'tenure.db'));
    this.jobs = new Jobs(this.#store);
  }

  /** Runs `test` with a scene of its own, and ends all of it. */
  static async of(jobs: object, test: (scene: ScheduleScene) => Promise<void>): Promise<void> {
    const scene = new ScheduleScene(jobs);
    try {
      await test(scene);
    } catch (error) {
      for (const { id, stderr } of scene.#wrappers) console.error(`--- ${id}\n${stderr}`);
      throw error;
    } finally {
      await scene.#end();
    }
  }

  /** A process that stands for the jobs. Resolves when it does. */
  async start(id: string, ...options: string[]): Promise<Wrapper> {
    const place = ['--url', `sqlite:${join(this.folder, 'tenure.db')}`, '--id', id];
    const file = ['-f', join(this.folder, 'jobs.yaml'), '--ttl', '20s'];
    // What it is told to be called is in what its commands write, too.
    const wrapper = new Wrapper(id, ['schedule', ...file, ...place, ...options], {
      WRAPPER: id,
      MARKS: this.marksFile,
      TENURE_SECRET: 'hidden',
    });
    this.#wrappers.push(wrapper);
    await wrapper.says(/ stands for /);
    return wrapper;
  }

  /** The only run of a job, once it is like this. */
  async run(job: string, matches: (run: RunRecord) => boolean): Promise<RunRecord> {
    for (;;) {
      const [run] = await this.jobs.history(job);
      if (run !== undefined && matches(run)) return run;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Asks for a run as soon as there is the job. */
  async runNow(job: string): Promise<string> {
    for (;;) {
      const isThere = (await this.jobs.list()).some((one) => one.job === job);
      if (isThere) return await this.jobs.runNow(job, act);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  get marks(): Mark[] {
    return readMarks(this.marksFile);
  }

  marked(matches: (mark: Mark) => boolean): Promise<Mark> {
    return until('a mark', () => this.marks.find(matches));
  }

  text(name: string): string {
    return readFileSync(join(this.folder, name), 'utf8');
  }

  async #end(): Promise<void> {
    for (const wrapper of this.#wrappers) await wrapper.end();
    for (const { pid } of this.marks) killQuietly(pid);
    await this.#store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A command that marks every few milliseconds that it lives, and so does its child. */
export function pulseCommand(...words: string[]): { command: string; shell: true } {
  const parts = [process.execPath, pulse].map((part) => `'${part}'`).join(' ');
  return { command: `exec ${parts} "$MARKS" "$WRAPPER" ${words.join(' ')}`, shell: true };
}

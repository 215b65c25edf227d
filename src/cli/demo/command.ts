import { randomBytes } from 'node:crypto';
import { type Command, Option } from 'commander';
import type { RunCommand } from '../run.js';
import type { Setting } from '../settings/index.js';
import { memoryUrl } from '../store-url.js';
import { narrationAside, type Terminal } from '../terminal.js';
import { trialUrl, trialUrlVariable } from '../trial-url.js';

interface DemoOptions {
  readonly url?: string;
  readonly sink: string;
  readonly output: 'text' | 'json';
}

const examples = `
Examples:
  tenure demo                             all in this process, in half a minute
  tenure demo --url redis://localhost     workers are processes of their own,
                                          stopped by SIGKILL and SIGSTOP
  tenure demo --url redis://localhost --sink postgres://app@localhost/app
                                               and write to a fenced table

Without --sink the answers are kept by this process, behind a fence in memory;
worker processes reach it by messages. What the demo stores has names of its own
and is removed at the end.
`;

/** `tenure demo`. */
export function addDemo(program: Command, terminal: Terminal, run: RunCommand): void {
  program
    .command('demo')
    .summary('watch ownership change hands while a chat goes on')
    .description(
      "Customers of a shop write messages, and workers answer: each customer's strictly in order, while workers join, are killed and freeze. Exits with 1 if anything it claims did not hold.",
    )
    .option(
      '--url <url>',
      `where leases and messages are: memory:, redis://, rediss://, redis+sentinel:// (default: ${trialUrlVariable}, else memory:)`,
    )
    .option('--sink <url>', 'where answers are kept: memory:, postgres://', memoryUrl)
    .addOption(
      new Option('-o, --output <format>', 'how the verdict is printed')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText('after', examples)
    .action((options: DemoOptions) => {
      const url = trialUrl(options.url);
      return run('demo', [url.value, options.sink], (signal) =>
        demo(options, url, terminal, signal),
      );
    });
}

async function demo(
  { sink, output }: DemoOptions,
  url: Setting<string>,
  terminal: Terminal,
  signal: AbortSignal,
) {
  const { playDemo } = await import('./play.js');
  const runId = randomBytes(6).toString('hex');
  const asJson = output === 'json';
  const voice = asJson ? narrationAside(terminal) : terminal;
  const settings = { url: url.value, urlSource: url.source, sink, runId, signal };
  const { verdict, brokenClaims } = await playDemo(settings, voice);
  const passed = brokenClaims.length === 0;
  if (asJson) terminal.print(JSON.stringify({ passed, verdict, brokenClaims }, undefined, 2));
  return passed;
}

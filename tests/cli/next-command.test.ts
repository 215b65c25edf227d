import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandWriter, typedCommand } from '../../src/cli/next-command.js';
import { status } from '../../src/cli/observe/status.js';
import { suspendAct } from '../../src/cli/operate/suspend.js';
import { repeatedUrl } from '../../src/cli/repeated-url.js';
import { tenure } from './command-line.js';
import { act, finish } from './operate/order.js';
import { createDesk } from './session.js';

describe('an act that needs consent', () => {
  it('says without a terminal how to give it', async () => {
    const home = mkdtempSync(join(tmpdir(), 'tenure-'));
    const url = `sqlite:${home}/x.db`;
    try {
      const words = ['suspend', 'payments', '--reason', 'INC 12', '--url', url];
      const { status, stderr } = await tenure(words);
      expect(status).toBe(64);
      expect(stderr).toContain(
        `next:    tenure suspend payments --reason 'INC 12' --url ${url} --yes\n`,
      );
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe('a command to run next', () => {
  it('looks where this one was told to by flag, and shows no password', () => {
    const write = commandWriter({ url: 'redis://ops:secret@h:6380/1', namespace: 'eu', ttl: '3s' });
    expect(write(['status', 'ur'])).toBe(
      "tenure status ur --url 'redis://ops:***@h:6380/1' --namespace eu",
    );
    expect(write(['resume', 'ur'], '--reason <why>')).toBe(
      "tenure resume ur --reason <why> --url 'redis://ops:***@h:6380/1' --namespace eu",
    );
  });

  it('repeats no flag that was not given', () => {
    expect(commandWriter({ output: 'text' })(['history', 'ur'])).toBe('tenure history ur');
    expect(commandWriter({ config: 'eu.json' })(['who', 'x'])).toBe(
      'tenure who x --config eu.json',
    );
  });

  it('can be pasted', () => {
    const write = commandWriter({ url: 'sqlite:~/a b.db' });
    expect(write(['who', "it's; here"])).toBe(
      `tenure who 'it'\\''s; here' --url 'sqlite:~/a b.db'`,
    );
  });

  it.each([
    [
      ['suspend', 'a', '--url', 'redis://:secret@h'],
      /^tenure suspend a --url 'redis:\/\/:\*\*\*@h' --yes$/,
    ],
    [['suspend', '--url=redis://:se#cret@h', 'a'], /^tenure suspend '--url=something.*' a --yes$/],
    [['suspend', '--reason', 'a b', '--', 'a'], "tenure suspend --reason 'a b' --yes -- a"],
  ])('may be the one that was typed: %j', (typed, command) => {
    expect(typedCommand(typed, '--yes')).toMatch(command);
  });

  it.each([
    ['redis://ops:secret@h:6380/1', 'redis://ops:***@h:6380/1'],
    ['redis://:secret@h', 'redis://:***@h'],
    ['redis://secret@h', 'redis://***@h'],
    [
      'postgres://app:secret@h/app?sslmode=require&schema=x',
      'postgres://app:***@h/app?sslmode=require&schema=x',
    ],
    ['postgres://app@h/app', 'postgres://app@h/app'],
    ['postgres://app@h/app?password=secret', 'postgres://app@h/app?password=***'],
    ['etcds://ops:secret@h1,h2:1?ca=/etc/ca.pem', 'etcds://ops:***@h1,h2:1?ca=/etc/ca.pem'],
    ['etcds://h1?key=-----BEGIN+secret', 'etcds://h1?key=***'],
    ['zookeeper://ops:secret@h/x?largestTtlMs=9000', 'zookeeper://ops:***@h/x?largestTtlMs=9000'],
    ['rediss+sentinel://ops:secret@h1,h2/main', 'rediss+sentinel://ops:***@h1,h2/main'],
    ['redis://u:p@secret@h', 'redis://h'],
    ['sqlite:/a.db', 'sqlite:/a.db'],
  ])(
    'names the store as the same user, with the same options, and no password: %s',
    (url, repeated) => {
      expect(repeatedUrl(url)).toBe(repeated);
    },
  );

  it('is what looks and suspensions tell of', async () => {
    const desk = createDesk();
    await status(desk.session, [], 'text');
    desk.terminal.answer = 'n';
    await finish(desk, suspendAct('payments', act), { yes: false });
    const notes = desk.terminal.noteText.replace(/\s+/g, ' ');
    const place = "--url 'redis://ops:***@store.example:6379'";
    expect(notes).toContain(`next: tenure status GROUP ${place}, for names`);
    expect(notes).toContain(`until: tenure resume payments --reason <why> ${place}`);
  });
});

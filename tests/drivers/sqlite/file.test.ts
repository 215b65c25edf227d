import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { identifyFile, isSameFile, prepareFile } from '../../../src/drivers/sqlite/file.js';
import { StoreMisconfiguredError } from '../../../src/errors/index.js';
import { NodeProgram } from '../../support/node-program.js';
import { folderPerTest } from './folder.js';

const newFolder = folderPerTest();
const asItIs = { createDirectory: false };
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('the file', () => {
  it('is made for its owner alone', () => {
    const path = join(newFolder(), 'x.db');
    expect(prepareFile(path, asItIs)).toBeUndefined();
    expect(modeOf(path)).toBe(0o600);
  });

  it('is left as it is if it is there', () => {
    const path = join(newFolder(), 'x.db');
    writeFileSync(path, 'text', { mode: 0o640 });
    expect(prepareFile(path, asItIs)).toBeUndefined();
    expect([statSync(path).size, modeOf(path)]).toEqual([4, 0o640]);
  });

  it('is warned of if every user of the machine can read it', () => {
    const path = join(newFolder(), 'x.db');
    writeFileSync(path, '');
    chmodSync(path, 0o644);
    expect(prepareFile(path, asItIs)).toContain('chmod 600');
  });

  it('makes no folder unless asked to, and then one for its owner alone', () => {
    const folder = join(newFolder(), 'a');
    const path = join(folder, 'b', 'x.db');
    expect(() => prepareFile(path, asItIs)).toThrow(
      `the folder ${join(folder, 'b')} does not exist`,
    );
    expect(existsSync(folder)).toBe(false);
    prepareFile(path, { createDirectory: true });
    expect([modeOf(folder), modeOf(join(folder, 'b')), modeOf(path)]).toEqual([
      0o700, 0o700, 0o600,
    ]);
  });

  it.each([
    ['a folder', (path: string) => mkdirSync(path), 'is not a file'],
    [
      'a link to nothing',
      (path: string) => symlinkSync(join(dirname(path), 'gone.db'), path),
      'x.db is a symbolic link to a file that does not exist',
    ],
    ['a circle of links', (path: string) => symlinkSync(path, path), 'ELOOP'],
  ])('is refused if %s is in its place', (_, make, words) => {
    const path = join(newFolder(), 'x.db');
    make(path);
    expect(() => prepareFile(path, asItIs)).toThrow(StoreMisconfiguredError);
    expect(() => prepareFile(path, asItIs)).toThrow(words);
  });

  it('is refused if a file is in the place of its folder', () => {
    const folder = join(newFolder(), 'a');
    writeFileSync(folder, '');
    expect(() => prepareFile(join(folder, 'x.db'), asItIs)).toThrow(StoreMisconfiguredError);
  });

  it('is another one after it was replaced, and none after it was removed', () => {
    const folder = newFolder();
    const [path, other] = [join(folder, 'x.db'), join(folder, 'y.db')];
    for (const one of [path, other]) writeFileSync(one, '');
    const identity = identifyFile(path);
    if (identity === undefined) throw new Error('the file is there');
    expect(isSameFile(identity, identifyFile(path))).toBe(true);
    expect(isSameFile(identity, identifyFile(other))).toBe(false);
    expect(identifyFile(join(folder, 'z.db'))).toBeUndefined();
    expect(isSameFile(identity, undefined)).toBe(false);
  });
});

// Root may do anything, so a process that has ceased to be root asks.
describe('a user without the right to write', { timeout: 60_000 }, () => {
  it.each([
    ['to the folder', 0o555, 0o666],
    ['to the file', 0o777, 0o444],
  ])('%s is refused, and told which right is missing', async (_, folderMode, fileMode) => {
    const folder = newFolder();
    const path = join(folder, 'x.db');
    writeFileSync(path, '');
    chmodSync(path, fileMode);
    chmodSync(folder, folderMode);
    const program = new NodeProgram([join(import.meta.dirname, 'opens-as-nobody.mjs'), path]);
    try {
      const [line] = await program.says(/^\w+Error: .*/);
      expect(line).toMatch(
        /^StoreMisconfiguredError: .* cannot be used \(EACCES\)\. Give this user/,
      );
    } finally {
      // Or its owner, who is not root everywhere, could not remove it.
      chmodSync(folder, 0o700);
      await program.kill();
    }
  });
});

describe('the file system of the folder', () => {
  const openOn = (type: number) => {
    const path = join(newFolder(), 'x.db');
    return () => prepareFile(path, { ...asItIs, statFileSystem: () => ({ type }) });
  };

  it.each([
    ['NFS', 0x6969],
    ['SMB', 0x517b],
    ['CIFS', 0xff534d42],
    ['CIFS where the number is signed', 0xff534d42 | 0],
    ['SMB2', 0xfe534d42],
    ['9P', 0x01021997],
    ['FUSE', 0x65735546],
    ['Ceph', 0x00c36400],
    ['Lustre', 0x0bd00bd0],
    ['VirtualBox', 0x786f4256],
  ])('is refused if it is %s', (_, type) => {
    expect(openOn(type)).toThrow(StoreMisconfiguredError);
    expect(openOn(type)).toThrow('Put the file on a local disk');
  });

  it.each([
    ['ext4', 0xef53],
    ['xfs', 0x58465342],
    ['btrfs', 0x9123683e],
    ['overlayfs', 0x794c7630],
    ['tmpfs', 0x01021994],
  ])('is accepted if it is %s', (_, type) => {
    expect(openOn(type)).not.toThrow();
  });

  it('is asked of the kernel, which knows that this one is local', () => {
    expect(() => prepareFile(join(newFolder(), 'x.db'), asItIs)).not.toThrow();
  });
});

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writerIn } from '../../../src/drivers/sqlite/lock-holder.js';
import { folderPerTest } from './folder.js';

const newFolder = folderPerTest();

/** A file, and how the kernel names it: the numbers of its device as coreutils tell them, and its inode. */
function newFile() {
  const path = join(newFolder(), 'x.db-shm');
  writeFileSync(path, '');
  const [major, minor, inode] = execFileSync('stat', ['-c', '%Hd %Ld %i', path], {
    encoding: 'utf8',
  })
    .trim()
    .split(' ');
  const hex = (digits = '') => Number(digits).toString(16).padStart(2, '0');
  return { path, device: `${hex(major)}:${hex(minor)}`, inode };
}

describe('the process that holds the write lock of a file', () => {
  it('is found in the list of the kernel', () => {
    const { path, device, inode } = newFile();
    const locks = [
      `1: POSIX  ADVISORY  READ  4700 ${device}:${inode} 120 120`,
      `2: POSIX  ADVISORY  WRITE 4701 ${device}:${inode} 121 121`,
      `2: -> POSIX  ADVISORY  WRITE 4702 ${device}:${inode} 120 120`,
      `3: POSIX  ADVISORY  WRITE 4703 ${device}:${inode} 120 120`,
    ];
    expect(writerIn(locks.slice(0, 3).join('\n'), path)).toBeUndefined();
    expect(writerIn(locks.join('\n'), path)).toBe(4703);
  });

  it('is none that has locked a file of the same number on another device', () => {
    const { path, device, inode } = newFile();
    const [major, minor] = device.split(':');
    for (const other of [`${major}:7f`, `7f:${minor}`])
      expect(writerIn(`1: POSIX  ADVISORY  WRITE 4703 ${other}:${inode} 120 120`, path)).toBe(
        undefined,
      );
  });
});

import { statfsSync } from 'node:fs';
import { StoreMisconfiguredError } from '../../errors/index.js';

/**
 * File systems on which two machines may see one file, or whose locks and shared memory cannot be relied on, by the magic
 * number that Linux gives them (statfs(2), linux/magic.h). FUSE does not tell what is behind it.
 */
const refused: Readonly<Record<number, string>> = {
  26985: 'NFS',
  20859: 'SMB',
  4283649346: 'CIFS',
  4266872130: 'SMB2',
  16914839: '9P',
  1702057286: 'FUSE',
  12805120: 'Ceph',
  1397113167: 'AFS',
  1799439955: 'AFS',
  1937076805: 'Coda',
  22092: 'NCP',
  18225520: 'GFS2',
  1952539503: 'OCFS2',
  198183888: 'Lustre',
  1196443219: 'GPFS',
  428016422: 'BeeGFS',
  2020557398: 'VirtualBox shared folder',
  3133910204: 'VMware shared folder',
};

export type StatFileSystem = (folder: string) => { readonly type: number };

/** @throws {StoreMisconfiguredError} unless the folder is on a file system that one machine has to itself. */
export function requireLocalFileSystem(folder: string, stat: StatFileSystem = statfsSync): void {
  // Elsewhere the number means something else, or nothing.
  if (process.platform !== 'linux') return;
  // On machines where it is a signed number, the high ones come as negative.
  const name = refused[stat(folder).type >>> 0];
  if (name === undefined) return;
  throw new StoreMisconfiguredError(
    `${folder} is on a ${name} file system. Its locks and shared memory do not hold between machines, so two processes could be granted one lease. Put the file on a local disk, or use a store with a server.`,
  );
}

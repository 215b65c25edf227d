import type { CommonFacts } from '../everywhere.js';

/** A file, and what it lies on. */
export interface SqliteFacts extends CommonFacts {
  readonly path: string;
  /** What to install, if nothing here reads the file. */
  readonly missingLibrary?: string | undefined;
  readonly folder: FolderFacts;
  /** Absent: there is none yet. */
  readonly file?: FileFacts;
  /** Who holds the file's write lock now. */
  readonly lockHolder?: { readonly pid: number; readonly isStopped: boolean } | undefined;
  /** The user of this process. */
  readonly uid: number | undefined;
}

export interface FolderFacts {
  readonly path: string;
  readonly isThere: boolean;
  /** Whoever opens the file first makes the folder. */
  readonly isMadeWhenNeeded: boolean;
  readonly isWritable: boolean;
  readonly isOpenToAll: boolean;
  readonly fileSystem?: FileSystemFacts;
}

export interface FileSystemFacts {
  /** As in `/proc/mounts`: `ext4`, `nfs4`; the name of one that no lock holds on, where tenure knows it. */
  readonly kind: string;
  /** Two machines may see one file there, or its locks cannot be relied on. */
  readonly isShared: boolean;
  readonly isReadOnly: boolean;
  readonly freeBytes: number;
}

export interface FileFacts {
  readonly isFile: boolean;
  readonly isWritable: boolean;
  readonly uid: number;
  readonly mode: number;
  readonly sizeBytes: number;
  /** From its head; absent in an empty file, and in what is no database. */
  readonly head?: FileHead | undefined;
  /** Of the file beside it that holds what was written last. */
  readonly logBytes: number;
}

export interface FileHead {
  readonly isWal: boolean;
  /** Whose file it is, by its own word. */
  readonly applicationId: number;
}

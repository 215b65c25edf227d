import type { Looked } from '../check.js';
import type { CommonFacts } from '../everywhere.js';

/** A file, and what it lies on. */
export interface SqliteFacts extends CommonFacts {
  readonly path: string;
  /** What to install, if nothing here reads the file. */
  readonly missingLibrary?: string | undefined;
  readonly folder: FolderFacts;
  /** Absent: there is none yet, or it may not be looked at. */
  readonly file?: FileFacts;
  /** Why the file may not be looked at, as the system names it: `EACCES`. */
  readonly fileRefusal?: string;
  /** Where a link leads that stands in the file's place, and where nothing is. */
  readonly deadLink?: string;
  /** Of what SQLite may read; absent in an empty file, and in what is no database. */
  readonly content?: Looked<ContentFacts>;
  /** Who holds the file's write lock now. */
  readonly lockHolder?: { readonly pid: number; readonly isStopped: boolean } | undefined;
  /** The user of this process. */
  readonly uid: number | undefined;
}

export interface FolderFacts {
  readonly path: string;
  readonly isThere: boolean;
  /** Why it may not be looked at, as the system names it: `EACCES`. */
  readonly refusal?: string;
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
  /** For this user. */
  readonly freeBytes: number;
}

export interface FileFacts {
  readonly isFile: boolean;
  readonly isReadable: boolean;
  readonly isWritable: boolean;
  /** One of the files beside it that this user may not read and write. */
  readonly closedBeside?: string;
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

export interface ContentFacts {
  /** `unreadable`: SQLite does not even read its first page. */
  readonly kind: 'own' | 'empty' | 'foreign' | 'unreadable';
  /** What SQLite finds wrong with its pages; absent: nothing. */
  readonly damage?: string;
  /** Why tenure grants no lease with what is in it; absent: it does. */
  readonly refusal?: string;
}

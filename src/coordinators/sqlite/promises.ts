import { kernelClockKind } from '../../drivers/sqlite/index.js';
import { type CoordinatorPromises, longestTtlMs } from '../contract.js';

const exclusionOnBootClock =
  'Exclusive among the processes of one machine, whatever its wall clock does, while its disk keeps what was written; a process that is stopped inside a transaction blocks the others until it goes on or ends.';
const exclusionOnWallClock =
  'Exclusive among the processes of one machine while its wall clock does not jump and its disk keeps what was written; a process that is stopped inside a transaction blocks the others until it goes on or ends.';

/** What a file can promise on this operating system; see `docs/protocol.md` for the reasons. */
export const sqlitePromises: CoordinatorPromises = {
  store: 'sqlite',
  scope: 'machine',
  exclusion: kernelClockKind === 'monotonic' ? exclusionOnBootClock : exclusionOnWallClock,
  // The wall clock is a floor under every term, so a new file, or an old copy of it, still grants a higher one.
  termsSurvive: ['restart-with-data', 'restart-without-data', 'deleted-record', 'lost-replica'],
  expiryClock: kernelClockKind === 'monotonic' ? 'server-monotonic' : 'server-wall',
  waking:
    'Who waits looks at the file 13 times a second, which takes less than one hundredth of a processor; only the first three who wait are called, at once if it was freed in the same process, else within 75 ms.',
  smallestTtlMs: 100,
  largestTtlMs: longestTtlMs,
};

import { describe, expect, it } from 'vitest';
import { StoreMisconfiguredError } from '../../../src/errors/index.js';
import { executedInPart, refused } from '../../../src/fences/redis/failures.js';

const server = { address: 'redis://127.0.0.1:6379/0', topology: 'single' } as const;
const ofClaim = { title: 'the claim of "ledger"', batch: undefined, place: 'SET' };

/* 7.0 says it otherwise than its successors; the servers of the other tests are of one kind. */
describe('a right that is missing', () => {
  it.each([
    [
      "ERR The user executing the script can't run this command or subcommand",
      'no right to SET)',
      '`ACL SETUSER <user> +set`',
    ],
    [
      "ERR ACL failure in script: User app has no permissions to run the 'set' command",
      'no right to SET)',
      '`ACL SETUSER <user> +set`',
    ],
    [
      "NOPERM ACL failure in script: User app has no permissions to run the 'set' command",
      'no right to SET)',
      '`ACL SETUSER <user> +set`',
    ],
    [
      "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
      'no right to SET for a key)',
      "`ACL SETUSER <user> '(+set ~KEY)'`",
    ],
    [
      'ERR ACL failure in script: No permissions to access a key',
      'no right to SET for a key)',
      "`ACL SETUSER <user> '(+set ~KEY)'`",
    ],
    [
      "ERR The user executing the script can't publish to the channel mentioned in the command",
      'no right to the channel)',
      '`ACL SETUSER <user> &CHANNEL`',
    ],
    [
      'ERR ACL failure in script: No permissions to access a channel',
      'no right to the channel)',
      '`ACL SETUSER <user> &CHANNEL`',
    ],
  ])(
    'is told with what gives it, by whatever words a server says so: %s',
    (words, kind, remedy) => {
      const error = refused({ ...ofClaim, words }, server);
      expect(error).toBeInstanceOf(StoreMisconfiguredError);
      expect(error.message).toContain(`failed with NOPERM (the fence's user has ${kind}`);
      expect(error.message).toContain(`nothing was executed. Give that user the right: ${remedy}.`);
      expect(executedInPart({ ...ofClaim, words }).message).toContain(remedy);
    },
  );
});

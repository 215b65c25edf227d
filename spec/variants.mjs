/**
 * The models and their variants: what is searched, and what has to come of it.
 *
 * @typedef {object} Variant
 * @property {string} model a file of this folder
 * @property {string} name what is different, in words
 * @property {string[]} defines what is defined for it
 * @property {boolean} [live] whether it is about what has to happen, and not about what must not
 * @property {string[]} [arises] it holds: the situations that are met, all of them and no others
 * @property {RegExp} [fails] it has to fail, with a trace in which this is said
 */

const believers = [
  'two believe at once',
  'a stale write is refused',
  'a write is applied whose sender has given up',
  'a write is applied of a grant that the store has forgotten',
];
const lossy = ['NO_FLOOR', 'SHORT_TAIL'];
const live = ['LIVE', 'CANDIDATES=2'];
const fence = { model: 'fence.pml' };
const lease = { model: 'lease.pml' };

/** @type {Variant[]} */
export const variants = [
  { ...fence, name: 'as it is', defines: [], arises: believers },
  {
    ...fence,
    name: 'a counter that a fail-over rewinds by one',
    defines: lossy,
    arises: [...believers, 'an equal term of another holder is refused'],
  },
  {
    ...fence,
    name: 'without the fence',
    defines: ['NO_FENCE'],
    fails: /the write of grant \d is applied$/,
  },
  {
    ...fence,
    name: 'a fence that checks only "not lower", and a counter that a fail-over rewinds by one',
    defines: ['NOT_LOWER', ...lossy],
    fails: /fails over to a replica: the last term it knows is/,
  },
  {
    ...fence,
    name: 'a counter that a fail-over rewinds, without the clock below it',
    defines: ['NO_FLOOR'],
    fails: /fails over to a replica: the last term it knows is 0/,
  },
  {
    ...fence,
    name: 'a fence that compares in one step and applies in another',
    defines: ['CHECK_THEN_EFFECT'],
    fails: /the fence lets the write of grant \d pass/,
  },
  {
    ...fence,
    name: 'a leader that reads before its claim is answered',
    defines: ['READ_FIRST'],
    fails: /reads, and sends its write under grant/,
  },
  {
    ...fence,
    name: 'a number that is taken before the lease',
    defines: ['TERM_FIRST'],
    fails: /candidate \d takes the number \d/,
  },
  { ...fence, live: true, name: 'somebody leads at last', defines: live, arises: believers },
  {
    ...fence,
    live: true,
    name: 'a lease that does not expire',
    defines: [...live, 'NO_EXPIRY'],
    fails: /faults have stopped/,
  },
  {
    ...fence,
    live: true,
    name: 'a leader that keeps what the fence has refused, and a counter that a fail-over rewinds by one',
    defines: [...live, ...lossy, 'KEEPS_REFUSED'],
    fails: /the fence refuses the claim of grant/,
  },
  {
    ...lease,
    name: 'as it is',
    defines: [],
    arises: [
      'a grant that arrives past its own deadline is given back',
      'a renewal is answered in time',
      'a renewal is answered after the deadline, and ignored',
      'a lease is taken over from somebody who has not noticed',
      'a release is executed while its sender waits anew',
    ],
  },
  {
    ...lease,
    name: 'a deadline that counts from the answer',
    defines: ['ANCHOR_AT_REPLY'],
    fails: /believes that it has the lease/,
  },
  {
    ...lease,
    name: 'no margin',
    defines: ['NO_MARGIN'],
    fails: /the clock of process \d misses a tick/,
  },
  {
    ...lease,
    name: 'a clock that stops in suspend',
    defines: ['CLOCK_STOPS'],
    fails: /the clock of process \d misses a tick/,
  },
  {
    ...lease,
    name: 'a release that does not carry the term',
    defines: ['ANY_RELEASE'],
    fails: /the store executes a release of process/,
  },
  {
    ...lease,
    name: 'an answer that is taken for another',
    defines: ['ANY_ANSWER'],
    fails: /takes a stale answer for the answer/,
  },
];

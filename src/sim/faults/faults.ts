/**
 * A fault, as data: what befalls whom, and when. All times are milliseconds of the world's true time since the beginning of
 * the run. A schedule is a list of these, and JSON.
 */
export type Fault = MachineFault | ClockFault | NetworkFault | StoreFault;

export type Schedule = readonly Fault[];

/** `pause`: stopped, while all clocks go on. `suspend`: the monotonic clock stops too. `crash`: gone, and begun anew. */
export interface MachineFault {
  readonly kind: 'pause' | 'suspend' | 'crash';
  readonly machine: string;
  readonly atMs: number;
  readonly forMs: number;
}

/** `step-wall`: somebody sets the wall clock. `drift`: the crystal runs at another rate from now on. */
export type ClockFault =
  | {
      readonly kind: 'step-wall';
      readonly machine: string;
      readonly atMs: number;
      readonly byMs: number;
    }
  | {
      readonly kind: 'drift';
      readonly machine: string;
      readonly atMs: number;
      readonly rate: number;
    };

export const networkFaultKinds = [
  'delay',
  'drop',
  'duplicate',
  'reorder',
  'hold',
  'resend',
  'partition',
] as const;

/**
 * What befalls messages of one process for a while.
 *
 * - `delay`: a share of them takes up to `forMs` longer.
 * - `drop`: a share never arrives. Of a reply: the request was executed all the same.
 * - `duplicate`: a share arrives twice.
 * - `reorder`: they overtake each other.
 * - `hold`: all that is sent arrives at the end of it: requests are executed after their caller has given up.
 * - `resend`: a share of the requests is sent again later by a client library that has reconnected.
 * - `partition`: nothing arrives.
 */
export interface NetworkFault {
  readonly kind: (typeof networkFaultKinds)[number];
  /** The process; with which server does not matter. */
  readonly machine: string;
  readonly direction: 'request' | 'reply' | 'both';
  readonly atMs: number;
  readonly forMs: number;
  /** Of how many messages, 0 to 1. */
  readonly share: number;
  /** Of its own random numbers. */
  readonly seed: number;
}

/** What befalls the store, as its model knows it; see `models/`. */
export interface StoreFault {
  readonly kind: 'store';
  readonly what: string;
  readonly atMs: number;
  readonly forMs: number;
  /** Of its own random numbers. */
  readonly seed: number;
}

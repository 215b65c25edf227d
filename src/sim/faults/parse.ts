import { OptionError } from '../../errors/index.js';
import type { Fault, Schedule } from './faults.js';

type Shape = Readonly<Record<string, 'number' | 'string'>>;

const machineFault = { machine: 'string', atMs: 'number', forMs: 'number' } as const;
const networkFault = {
  ...machineFault,
  direction: 'string',
  share: 'number',
  seed: 'number',
} as const;

const shapes: Readonly<Record<Fault['kind'], Shape>> = {
  pause: machineFault,
  suspend: machineFault,
  crash: machineFault,
  'step-wall': { machine: 'string', atMs: 'number', byMs: 'number' },
  drift: { machine: 'string', atMs: 'number', rate: 'number' },
  store: { what: 'string', atMs: 'number', forMs: 'number', seed: 'number' },
  delay: networkFault,
  drop: networkFault,
  duplicate: networkFault,
  reorder: networkFault,
  hold: networkFault,
  resend: networkFault,
  partition: networkFault,
};

/** A schedule as it was printed, or written by hand. @throws {OptionError} that names the fault which is none. */
export function parseSchedule(text: string): Schedule {
  let faults: unknown;
  try {
    faults = JSON.parse(text);
  } catch {
    throw wrong('the text', 'is no JSON');
  }
  if (!Array.isArray(faults)) throw wrong('the text', 'is no list of faults');
  return faults.map((fault: unknown, index) => {
    if (typeof fault !== 'object' || fault === null) throw wrong(index, 'is no object');
    const kind = String(Reflect.get(fault, 'kind'));
    const shape = Object.hasOwn(shapes, kind) ? shapes[kind as Fault['kind']] : undefined;
    if (shape === undefined) throw wrong(index, `is of a kind that there is not: ${kind}`);
    for (const [key, type] of Object.entries(shape)) {
      const value: unknown = Reflect.get(fault, key);
      const isRight = type === 'number' ? Number.isFinite(value) : typeof value === 'string';
      if (!isRight) throw wrong(index, `of kind ${kind} needs ${key}, a ${type}`);
    }
    return fault as Fault;
  });
}

function wrong(what: unknown, why: string): OptionError {
  const remedy = 'pass a schedule as "tenure sim" prints it';
  return new OptionError('schedule', what, why, remedy);
}

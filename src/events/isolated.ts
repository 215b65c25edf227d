import { Emitter } from './emitter.js';

/** A listener as others may call it: if it throws, or rejects, that is reported and does not reach the caller. */
export function isolated<Value>(listener: (value: Value) => void): (value: Value) => void {
  const outlet = new Emitter<{ told: Value }>();
  outlet.on('told', listener);
  return (value) => outlet.emit('told', value);
}

import type { Coordinator } from '../coordinators/index.js';
import { requireMethods, requireObject } from '../errors/checks.js';

type Method = {
  [Key in keyof Coordinator]-?: Coordinator[Key] extends (...input: never[]) => unknown
    ? Key
    : never;
}[keyof Coordinator];

/** By this type, none of the contract can be left out. */
const methods: Readonly<Record<Method, true>> = {
  acquire: true,
  renew: true,
  release: true,
  handoff: true,
  read: true,
  list: true,
  watch: true,
  onConnectionLost: true,
  enroll: true,
  withdraw: true,
  candidates: true,
  onCalled: true,
  revoke: true,
  suspend: true,
  resume: true,
  history: true,
  readDocument: true,
  writeDocument: true,
  close: true,
};

/** @throws {OptionError} for half a coordinator: what it lacks would be missed only when it is needed most. */
export function requireCoordinator(coordinator: Coordinator): void {
  const remedy =
    'pass what redisCoordinator(url), sqliteCoordinator(path) or memoryCoordinator() returns';
  const problem = 'is not a coordinator';
  requireMethods('coordinator', coordinator, Object.keys(methods), problem, remedy);
  requireObject('coordinator.promises', coordinator.promises, remedy);
}

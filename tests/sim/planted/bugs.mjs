/**
 * @typedef {{ readonly file: string, readonly from: string, readonly to: string }} Edit
 *   `from` stands once in `src/<file>`, and becomes `to`.
 *
 * @typedef {object} Bug
 * @property {string} name as docs/testing.md has it
 * @property {readonly Edit[]} edits
 * @property {string} scenario
 * @property {string} [model] default: whichever the seed draws
 * @property {readonly string[]} checkers one of which finds it
 * @property {number} withinSeeds
 */

/** @type {readonly Bug[]} */
export const bugs = [
  {
    name: 'no margin',
    edits: [
      {
        file: 'leases/options.ts',
        from: 'return ttlMs * (1 - driftShare) - marginMs;',
        to: 'return ttlMs;',
      },
    ],
    scenario: 'leases',
    checkers: ['belief'],
    withinSeeds: 30,
  },
  {
    name: 'deadline anchored at the reply',
    edits: [
      {
        file: 'leases/renewer.ts',
        from: "lease.apply({ type: 'renewed', sentAt });",
        to: "lease.apply({ type: 'renewed', sentAt: lease.runtimeNow() });",
      },
    ],
    scenario: 'leases',
    checkers: ['belief'],
    withinSeeds: 30,
  },
  {
    name: 'wall clock instead of monotonic',
    edits: [
      {
        file: 'time/runtime.ts',
        from: 'return Math.max(to.monotonicMs - from.monotonicMs, to.uptimeMs - from.uptimeMs);',
        to: 'return to.wallMs - from.wallMs;',
      },
      {
        file: 'leases/machine.ts',
        from: 'if (Math.abs(wallStepMs(reference, now)) <= life.wallToleranceMs) return life;',
        to: 'if (reference !== undefined) return life;',
      },
    ],
    scenario: 'leases',
    checkers: ['belief', 'hygiene', 'terms', 'liveness'],
    withinSeeds: 30,
  },
  {
    name: 'renewal that re-creates',
    edits: [
      {
        file: 'coordinators/rules/operations.ts',
        from: "  const lease = ownUnrevokedLease(ledger, request);\n  if ('outcome' in lease) return lease;\n  ledger.records.set(request.name, {",
        to: `  const found = ownUnrevokedLease(ledger, request);
  if ('outcome' in found && found.reason !== 'vanished') return found;
  const lease = 'outcome' in found
    ? { kind: 'lease', attempt: '', grantedAtMs: 0, graceMs: 0, metadata: '', revocation: undefined, ...request }
    : found;
  ledger.records.set(request.name, {`,
      },
    ],
    scenario: 'leases',
    checkers: ['terms', 'belief'],
    withinSeeds: 30,
  },
  {
    name: 'release without the holder',
    edits: [
      {
        file: 'coordinators/rules/operations.ts',
        from: `    record.holder.equals(request.holder) &&
    ('attempt' in request ? record.attempt === request.attempt : record.term === request.term);`,
        to: '    record.holder !== undefined;',
      },
    ],
    scenario: 'leases',
    checkers: ['terms', 'belief'],
    withinSeeds: 30,
  },
  {
    name: 'counter only, with a lossy failover',
    edits: [
      {
        file: 'coordinators/term.ts',
        from: 'return Math.max(lastTerm + 1, Math.floor(storeClockMs), above + 1);',
        to: 'return lastTerm + 1;',
      },
    ],
    scenario: 'election',
    model: 'lossy-failover',
    checkers: ['terms', 'fence', 'liveness'],
    withinSeeds: 60,
  },
  {
    name: 'fence accepts an equal term of another nonce',
    edits: [
      {
        file: 'fences/rule.ts',
        from: "candidate.term === installed.term && isSameHolder ? 'pass' : 'refuse'",
        to: "candidate.term === installed.term ? 'pass' : 'refuse'",
      },
      {
        file: 'coordinators/term.ts',
        from: 'return Math.max(lastTerm + 1, Math.floor(storeClockMs), above + 1);',
        to: 'return Math.max(lastTerm + 1, above + 1);',
      },
    ],
    scenario: 'election',
    model: 'lossy-failover',
    checkers: ['fence'],
    withinSeeds: 200,
  },
  {
    name: 'state read before the fence is claimed',
    edits: [
      {
        file: 'sim/scenarios/election.ts',
        from: "  await host.fence.claim(lease);\n  let counted = Number((await host.fence.read('count')) ?? 0);",
        to: "  let counted = Number((await host.fence.read('count')) ?? 0);\n  await host.fence.claim(lease);",
      },
    ],
    scenario: 'election',
    checkers: ['claimed-state'],
    withinSeeds: 60,
  },
  {
    name: 'unfenced read',
    edits: [
      {
        file: 'streams/memory/log.ts',
        from: 'if (!isOwner) return this.#stale();',
        to: "if (!isOwner) return request.acknowledge.length > 0 ? this.#stale() : { outcome: 'ok', messages: this.#read(request), acknowledgedCount: 0 };",
      },
    ],
    scenario: 'streams',
    checkers: ['messages'],
    withinSeeds: 60,
  },
  {
    name: 'unfenced acknowledge',
    edits: [
      {
        file: 'streams/memory/log.ts',
        from: 'if (!isOwner) return this.#stale();',
        to: `if (!isOwner) {
      for (const position of request.acknowledge) this.#messages.delete(Number(position));
      return this.#stale();
    }`,
      },
    ],
    scenario: 'streams',
    checkers: ['messages'],
    withinSeeds: 60,
  },
  {
    name: 'acknowledge before the effect',
    edits: [
      {
        file: 'streams/worker/pump.ts',
        from: '    if (runner.isOpen && request.limit > 0) runner.intake.accept(messages, request.limit);',
        to: `    if (runner.isOpen && request.limit > 0) {
      runner.intake.accept(messages, request.limit);
      for (const { position } of messages) runner.acknowledgements.add(position);
    }`,
      },
    ],
    scenario: 'streams',
    checkers: ['messages'],
    withinSeeds: 10,
  },
  {
    name: 'new messages before in-flight ones',
    edits: [
      {
        file: 'streams/memory/log.ts',
        from: 'const afterPosition = Number(after ?? 0);',
        to: 'const afterPosition = Number(after ?? this.#handedOut);\n    this.#handedOut = this.#lastPosition;',
      },
      {
        file: 'streams/memory/log.ts',
        from: '  #lastPosition = 0;\n',
        to: '  #lastPosition = 0;\n  #handedOut = 0;\n',
      },
    ],
    scenario: 'streams',
    checkers: ['messages'],
    withinSeeds: 10,
  },
  {
    name: 'two runs of a tick',
    edits: [
      {
        file: 'schedule/records.ts',
        from: 'return `${job}@${new Date(tickMs).toISOString()}`;',
        to: 'return `${job}@${new Date(tickMs).toISOString()}/${globalThis.planted = (globalThis.planted ?? 0) + 1}`;',
      },
    ],
    scenario: 'jobs',
    checkers: ['jobs'],
    withinSeeds: 100,
  },
];

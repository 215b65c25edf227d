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
 * @property {number} withinSeeds of those from 1: about three times what was seen in several ranges of them
 * @property {number} [firstSeed] where the test begins, since those before it show nothing; default 1
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
        from: 'settle(lease, results[index], sentAt);',
        to: 'settle(lease, results[index], this.#runtime.now());',
      },
      {
        file: 'leases/acquisition.ts',
        from: 'const grant = { wanted: one, holder, timing, sentAt };',
        to: 'const grant = { wanted: one, holder, timing, sentAt: runtime.now() };',
      },
    ],
    scenario: 'leases',
    model: 'linearizable',
    checkers: ['belief'],
    withinSeeds: 60,
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
    checkers: ['belief'],
    withinSeeds: 60,
    firstSeed: 15,
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
    checkers: ['terms', 'belief', 'records'],
    withinSeeds: 100,
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
    checkers: ['ownership', 'terms', 'belief'],
    withinSeeds: 10,
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
    checkers: ['terms'],
    withinSeeds: 60,
    firstSeed: 15,
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
      {
        // Such a store says so: else its terms are what is found.
        file: 'sim/models/server.ts',
        from: ' && isBehind',
        to: '',
      },
    ],
    scenario: 'election',
    model: 'lossy-failover',
    checkers: ['fence'],
    withinSeeds: 100,
  },
  {
    name: 'state read before the fence is claimed',
    edits: [
      {
        file: 'sim/scenarios/election.ts',
        from: "  await host.fence.claim(lease);\n  let counted = Number((await host.fence.read('count')) ?? 0);",
        to: `  let counted = Number((await host.fence.read('count')) ?? 0);
  await sleep(host.runtime, 200);
  await host.fence.claim(lease);`,
      },
    ],
    scenario: 'election',
    model: 'eviction',
    checkers: ['claimed-state'],
    withinSeeds: 15,
  },
  {
    name: 'unfenced read',
    edits: [
      {
        file: 'sim/scenarios/streams.ts',
        from: 'callTimeoutMs: 300,',
        to: 'callTimeoutMs: 3_000,',
      },
      {
        file: 'streams/memory/log.ts',
        from: 'if (!isOwner) return this.#stale();',
        to: "if (!isOwner) return { outcome: 'ok', messages: this.#read(request), acknowledgedCount: 0 };",
      },
    ],
    scenario: 'streams',
    checkers: ['messages'],
    withinSeeds: 150,
    firstSeed: 40,
  },
  {
    name: 'unfenced acknowledge',
    edits: [
      {
        file: 'sim/scenarios/streams.ts',
        from: 'callTimeoutMs: 300,',
        to: 'callTimeoutMs: 3_000,',
      },
      {
        file: 'streams/memory/log.ts',
        from: 'if (!isOwner) return this.#stale();',
        to: 'if (!isOwner && request.acknowledge.length === 0) return this.#stale();',
      },
    ],
    scenario: 'streams',
    checkers: ['messages'],
    withinSeeds: 30,
  },
  {
    name: 'acknowledge before the effect',
    edits: [
      {
        file: 'streams/worker/pump.ts',
        from: '      runner.intake.accept(messages, request.limit);',
        to: `      runner.intake.accept(messages, request.limit);
      for (const { position } of messages) runner.acknowledgements.add(position);`,
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
        file: 'schedule/rules/decisions.ts',
        from: '  const { consideredToMs } = stored;\n',
        to: '  const consideredToMs = stored.consideredToMs - 60_000;\n',
      },
      {
        file: 'schedule/records.ts',
        from: 'toISOString()}`;',
        to: 'toISOString()}/` + (globalThis.planted = (globalThis.planted ?? 0) + 1);',
      },
    ],
    scenario: 'jobs',
    checkers: ['jobs'],
    withinSeeds: 10,
  },
  {
    name: 'the reply to an old acquisition applied to a newer handle',
    edits: [
      {
        file: 'drivers/memory/caller.ts',
        from: '        this.#giveUps.delete(giveUp);\n        act();',
        to: '        this.#giveUps.delete(giveUp);\n        this.waiting?.delete(giveUp);\n        act();',
      },
      {
        file: 'drivers/memory/caller.ts',
        from: '      this.#giveUps.add(giveUp);\n',
        to: `      this.#giveUps.add(giveUp);
      if (operation === 'acquire')
        (this.waiting ??= new Map()).set(giveUp, (answer) =>
          settle(() => ('error' in answer ? reject(answer.error) : resolve(answer.value))));
`,
      },
      {
        file: 'drivers/memory/caller.ts',
        from: "link.carry({ direction: 'reply', operation }, () =>\n          settle(",
        to: "link.carry({ direction: 'reply', operation }, () =>\n          operation === 'acquire' ? [...this.waiting.values()][0]?.(answer) : settle(",
      },
    ],
    scenario: 'leases',
    model: 'linearizable',
    checkers: ['belief', 'terms'],
    withinSeeds: 30,
  },
  {
    name: 'unknown outcome taken as "not acquired"',
    edits: [
      {
        file: 'leases/acquisition.ts',
        from: 'if (error instanceof OutcomeUnknownError) this.#takeBack(wanted, attempt, timing);',
        to: '',
      },
    ],
    scenario: 'leases',
    checkers: ['unknown'],
    withinSeeds: 10,
  },
  {
    name: 'watch taken as truth',
    edits: [
      {
        file: 'leases/roster.ts',
        from: 'this.#lines.get(name)?.entry.called(position);',
        to: '(this.#options.holder.calls ??= new Set()).add(name);\n      this.#lines.get(name)?.entry.called(position);',
      },
      {
        file: 'leases/acquisition.ts',
        from: "      case 'held':\n",
        to: `      case 'held':
        if (grant.holder.calls?.delete(name)) return this.#granted({ ...grant, term: result.current.term + 1 });
`,
      },
    ],
    scenario: 'leases',
    checkers: ['belief'],
    withinSeeds: 10,
  },
  {
    name: 'term taken before the claim',
    edits: [
      {
        file: 'coordinators/rules/ledger-coordinator.ts',
        from: `    const results = await this.#batch<AcquireResult>('acquire', checked, call, {
      execute: (ledger, nowMs) => this.grant(ledger, checked, nowMs),`,
        to: `    const timeoutMs = call.timeoutMs / 2;
    const [taken] = await this.#batch('acquire', checked, { timeoutMs }, {
      execute: (ledger) => {
        ledger.lastTerm = Math.max(ledger.lastTerm + 1, Math.floor(ledger.wallMs()));
        return [ledger.lastTerm];
      },
    });
    const results = await this.#batch<AcquireResult>('acquire', checked, { timeoutMs }, {
      execute: (ledger, nowMs) => {
        ledger.taken = taken;
        return this.grant(ledger, checked, nowMs);
      },`,
      },
      {
        file: 'coordinators/rules/operations.ts',
        from: 'const term = nextTerm(ledger.lastTerm, wallMs, highestAbove(free));',
        to: 'const term = ledger.taken;',
      },
      {
        file: 'coordinators/rules/operations.ts',
        from: 'if (free.length > 0) ledger.lastTerm = term;',
        to: '',
      },
    ],
    scenario: 'leases',
    model: 'linearizable',
    checkers: ['terms', 'records'],
    withinSeeds: 80,
    firstSeed: 20,
  },
  {
    name: 'quorum without write-back',
    edits: [
      {
        file: 'sim/models/quorum/index.ts',
        from: 'start: (stage) => startQuorum(stage, {}),',
        to: 'start: (stage) => startQuorum(stage, { confirms: false }),',
      },
    ],
    scenario: 'leases',
    model: 'quorum',
    checkers: ['belief', 'terms'],
    withinSeeds: 130,
    firstSeed: 20,
  },
  {
    name: 'amnesiac node rejoins',
    edits: [
      {
        file: 'sim/models/quorum/index.ts',
        from: 'start: (stage) => startQuorum(stage, {}),',
        to: 'start: (stage) => startQuorum(stage, { keepsOut: false }),',
      },
    ],
    scenario: 'leases',
    model: 'quorum',
    checkers: ['belief', 'terms'],
    withinSeeds: 60,
  },
  {
    name: 'fence check and effect in two steps',
    edits: [
      {
        file: 'sim/network/remote-fence.ts',
        from: `      const isDone = await this.#judged(token, 'write', [...batch.writes.keys()], (bare) =>
        fence.transaction(bare, async (transaction) => {`,
        to: `      await this.claim(token);
      const isDone = await this.#judged(token, 'write', [...batch.writes.keys()], () =>
        fence.resource.transaction(async (transaction) => {`,
      },
    ],
    scenario: 'leases',
    model: 'eviction',
    checkers: ['fence'],
    withinSeeds: 25,
  },
  {
    name: 'shard handed over before the drain',
    edits: [
      {
        file: 'shards/holdings.ts',
        from: 'await this.#options.work.drain(holding);',
        to: 'void this.#options.work.drain(holding);',
      },
    ],
    scenario: 'streams',
    checkers: ['shards'],
    withinSeeds: 10,
  },
  {
    name: 'timer overflow above 2^31-1 ms',
    edits: [
      {
        file: 'time/long-timer.ts',
        from: 'if (!(delayMs > longestTimerMs)) return set(delayMs, callback);',
        to: 'return set(delayMs, callback);',
      },
    ],
    scenario: 'jobs',
    checkers: ['jobs'],
    withinSeeds: 5,
  },
  {
    name: 'a key of unknown outcome begun anew in silence',
    edits: [
      {
        file: 'once/rules/decisions.ts',
        from: "      if (repeat === undefined || !isAttempt(stored, repeat)) return answer('unknown');\n      const settlements = settledBy(stored, 'repeated', repeat, found.nowMs);",
        to: '      const { settlements } = stored;',
      },
    ],
    scenario: 'once',
    checkers: ['once'],
    withinSeeds: 10,
  },
  {
    name: "an effect's time counted from the reply",
    edits: [
      {
        file: 'once/call.ts',
        from: 'const times = { runtime: this.#runtime, sentAt, timeoutMs, signal };',
        to: 'const times = { runtime: this.#runtime, sentAt: this.#runtime.now(), timeoutMs, signal };',
      },
    ],
    scenario: 'once',
    checkers: ['once'],
    withinSeeds: 450,
    firstSeed: 410,
  },
  {
    name: 'suspension that only revokes',
    edits: [
      {
        file: 'coordinators/rules/acts.ts',
        from: '  ledger.suspensions.set(name, suspension);\n',
        to: '',
      },
    ],
    scenario: 'election',
    checkers: ['suspended'],
    withinSeeds: 10,
  },
  {
    name: 'cancellation not heeded',
    edits: [
      {
        file: 'schedule/leader/led-job.ts',
        from: 'if (mine !== undefined) this.#attempt?.cancel(mine.by, mine.reason);',
        to: '',
      },
    ],
    scenario: 'jobs',
    checkers: ['cancelled'],
    withinSeeds: 60,
  },
];

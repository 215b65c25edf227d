/**
 * Every other public function, constructor and method, by why none of its arguments can hold an option that is misspelt.
 * Those that take nothing at all need not be here.
 */
export const withoutOptions: Readonly<Record<string, readonly string[]>> = {
  'takes names, texts, numbers, functions, or values of the user': [
    ...['validateHolderId', 'encodeName', 'groupOf', 'validateName', 'validateMetadata'],
    ...['isTerm', 'nextTerm', 'validateTerm', 'validateKey', 'validateShardCount', 'shardOf'],
    ...['memberLeaseName', 'shardLeaseName', 'validateJobName', 'tickRunId', 'parseSchedule'],
    ...['isTransient', 'preview', 'redactSecrets', 'notApplied', 'isRowRefusal'],
    ...['migrationSql', 'postgresSchemaSql', 'LeaderOnly', 'inMessageSpan', 'CronTimes'],
    ...['Holder.parse', 'Holder', 'Election.handoff', 'Elections.onElection', 'Leases.read'],
    ...['Once.on', 'Once.read', 'Once.forgetExpired', 'Pins.shardOf', 'Pins.beginMove'],
    ...['Pins.finishMove', 'Topic.shardOf', 'Jobs.resume', 'Jobs.forget'],
    ...['CronTimes.nextAfter', 'MemoryResource.read', 'MemoryResource.transaction'],
    ...['MemoryTransaction.get', 'MemoryTransaction.set', 'MemoryTransaction.delete'],
    ...['SqliteFenceTransaction.run', 'SqliteFenceTransaction.get', 'SqliteFenceTransaction.all'],
    ...['SqliteFenceTransaction.exec', 'VirtualRuntime.setTimer', 'VirtualRuntime.randomHex'],
    ...['VirtualRuntime.advance', 'VirtualRuntime.advanceUntil', 'VirtualRuntime.freeze'],
    ...['VirtualRuntime.suspend', 'VirtualRuntime.stepWall', 'FaultyCoordinator.expire'],
    ...['FaultyCoordinator.steal', 'TestFleet.process', 'TestFleet.advance', 'TestFleet.until'],
    ...['TestFleet.expire', 'TestFleet.steal', 'TestProcess.pauseAt', 'TestProcess.reach'],
    ...['ProcessRuntime.randomHex', 'ProcessRuntime.nextTurn', 'SimHost.progress', 'Random'],
    ...['Random.chance', 'Random.between', 'Random.integer', 'Random.pick', 'Random.magnitude'],
    ...['Random.hex', 'Witness.on', 'Witness.cover', 'PinTable', 'PinTable.lookup'],
    ...['PinTable.shardOf', 'PinTable.beginMove', 'PinTable.finishMove'],
  ],
  'takes nothing, and has no constructor of its own': [
    ...['FaultLink', 'MemoryResource', 'TenureModule', 'Witness'],
  ],
  'takes what tenure has made': [
    ...['plotTtl', 'recordedSample', 'problemOf', 'fencingTokenOf', 'fencedFetch', 'memoryFence'],
    ...['requireJobStore', 'logEvents', 'Leases.releaseMany', 'MemoryJobs', 'ProcessRuntime'],
  ],
  'takes what all parts of are needed, so that one that is misspelt is one that is missing': [
    ...['isCredibleTerm', 'balance', 'Leases.handoffMany', 'SimHost', 'registerSuite'],
    ...['runConformanceCase', 'registerCoordinatorConformance', 'registerBatchFenceConformance'],
    ...['registerFenceConformance', 'registerOnceConformance', 'registerJobStoreConformance'],
    ...['registerStreamConformance'],
  ],
  'is part of what leases ask of a store, or a process of its runtime: tenure calls it': [
    ...['checkTimeout', 'readEvidence', 'Holder.create', 'Holder.equals'],
    ...['FaultyCoordinator.acquire', 'FaultyCoordinator.renew', 'FaultyCoordinator.release'],
    ...['FaultyCoordinator.handoff', 'FaultyCoordinator.read', 'FaultyCoordinator.list'],
    ...['FaultyCoordinator.watch', 'FaultyCoordinator.onConnectionLost'],
    ...['FaultyCoordinator.enroll', 'FaultyCoordinator.withdraw', 'FaultyCoordinator.candidates'],
    ...['FaultyCoordinator.onCalled', 'FaultyCoordinator.revoke', 'FaultyCoordinator.suspend'],
    ...['FaultyCoordinator.resume', 'FaultyCoordinator.history'],
    ...['FaultyCoordinator.readDocument', 'FaultyCoordinator.writeDocument'],
    ...['FaultLink.carry', 'ProcessRuntime.setTimer'],
  ],
  'is internal: it is of a class that users hold, and not for them': [
    ...['Election', 'Election.leaseEnded', 'Election.duplicateSeen', 'Election.evidenceRefused'],
    ...['Election.overhear', 'Election.workFailed', 'ShardWorker.listenerCount'],
    ...['Pins', 'MemoryStore.watch', 'MemoryStore.onCalled', 'MemoryStore.onConnectionLost'],
    ...['MemoryStore.altered', 'MemoryStore.vacated', 'MemoryStore.deleteRecord'],
    ...['MemoryStore.overwriteRecord', 'MemoryStore.foreignText', 'MemoryTransaction'],
    ...['MemoryTransaction.table', 'MemoryTransaction.guardCommit', 'MemoryKeys.find'],
    ...['MemoryKeys.put', 'MemoryJobs.view', 'MemoryStreams.describeTopic', 'MemoryStreams.log'],
    ...['MemoryStreams.newLog', 'MemoryStreams.backlog', 'MemoryStreams.on'],
    ...['MemoryStreams.ring', 'MemoryStreams.appendForeign', 'MemoryStreams.overwriteState'],
    ...['SqliteFenceTransaction', 'SqliteFenceTransaction.spoil', 'Witness.tell'],
  ],
};

import { describe, expect, it } from 'vitest';
import { memoryCoordinator } from '../../src/coordinators/memory/index.js';
import { OptionError } from '../../src/errors/index.js';
import { Leases } from '../../src/leases/index.js';
import { Pins } from '../../src/shards/index.js';
import { movePin, StreamWorker, Topic } from '../../src/streams/index.js';
import { MemoryStreams, memoryStreams } from '../../src/streams/memory/index.js';
import { redisStreams } from '../../src/streams/redis/index.js';
import { failure, untyped } from '../support/untyped.js';

const topic = new Topic(memoryStreams());
const leases = new Leases(memoryCoordinator());
const worker = { topic, leases, group: 'g', handler: () => {} };
const message = { key: 'k', id: '1', payload: 1 };
const url = 'redis://127.0.0.1:1';

describe('a wrong collaborator or null', () => {
  it.each<[string, string, () => unknown]>([
    ['a worker without options', 'options', () => new StreamWorker(untyped(undefined))],
    ['a worker of null', 'options', () => new StreamWorker(untyped(null))],
    ['no topic', 'topic', () => new StreamWorker(untyped({ ...worker, topic: undefined }))],
    ['a topic that is none', 'topic', () => new StreamWorker(untyped({ ...worker, topic: {} }))],
    ['leases that are none', 'leases', () => new StreamWorker(untyped({ ...worker, leases: {} }))],
    ['a fence of null', 'fence', () => new StreamWorker(untyped({ ...worker, fence: null }))],
    ['a fence that is none', 'fence', () => new StreamWorker(untyped({ ...worker, fence: {} }))],
    ['a number for a fence', 'fence', () => new StreamWorker(untyped({ ...worker, fence: 3 }))],
    ['a retry of 3', 'retry', () => new StreamWorker(untyped({ ...worker, retry: 3 }))],
    ['a store of null', 'store', () => new Topic(untyped(null))],
    ['a store that is none', 'store', () => new Topic(untyped({}))],
    ['half a store', 'store', () => new Topic(untyped({ publish() {}, promises: {} }))],
    ['topic options of null', 'options', () => new Topic(memoryStreams(), untyped(null))],
    ['pins of null', 'pins', () => new Topic(memoryStreams(), untyped({ pins: null }))],
    ['pins that are none', 'pins', () => new Topic(memoryStreams(), untyped({ pins: {} }))],
    ['a runtime of 3', 'runtime', () => new Topic(memoryStreams(), untyped({ runtime: 3 }))],
    ['a runtime of null', 'runtime', () => new Topic(memoryStreams(), untyped({ runtime: null }))],
    ['a runtime of {}', 'runtime', () => new Topic(memoryStreams(), untyped({ runtime: {} }))],
    ['a message of null', 'message', () => topic.publish(untyped(null))],
    ['no message', 'message', () => topic.publish(untyped(undefined))],
    ['publish options of null', 'options', () => topic.publish(message, untyped(null))],
    ['messages of null', 'messages', () => topic.publishMany(untyped(null))],
    ['messages that are no list', 'messages', () => topic.publishMany(untyped('ab'))],
    ['a null among the messages', 'message', () => topic.publishMany(untyped([message, null]))],
    ['many with options of null', 'options', () => topic.publishMany([message], untyped(null))],
    ['a move without a topic', 'topic', () => movePin(untyped(undefined), 'k', 1)],
    ['a move with options of null', 'options', () => movePin(topic, 'k', 1, untyped(null))],
    ['memory streams of null', 'options', () => new MemoryStreams(untyped(null))],
    ['a runtime of memory streams', 'runtime', () => new MemoryStreams(untyped({ runtime: 3 }))],
    ['a memory state of null', 'state', () => memoryStreams(untyped(null))],
    ['a memory state that is none', 'state', () => memoryStreams(untyped({}))],
    ['memory options of null', 'options', () => memoryStreams(new MemoryStreams(), untyped(null))],
    [
      'a runtime of a memory store',
      'runtime',
      () => memoryStreams(new MemoryStreams(), untyped({ runtime: {} })),
    ],
    ['a link', 'link', () => memoryStreams(new MemoryStreams(), untyped({ link: {} }))],
    ['Redis streams without options', 'options', () => redisStreams(url, untyped(undefined))],
    ['Redis streams of null', 'options', () => redisStreams(url, untyped(null))],
    [
      'a runtime of Redis streams',
      'runtime',
      () => redisStreams(url, untyped({ topic: 't', runtime: 3 })),
    ],
    ['pins without options', 'options', () => Pins.load(untyped(undefined))],
    [
      'a runtime of pins',
      'runtime',
      () => Pins.load(untyped({ coordinator: memoryCoordinator(), group: 'g', runtime: {} })),
    ],
    [
      'a timeout of pins',
      'timeoutMs',
      () => Pins.load(untyped({ coordinator: memoryCoordinator(), group: 'g', timeoutMs: 'x' })),
    ],
  ])('is refused by name: %s', async (_what, option, call) => {
    const error = await failure(call);
    expect(error).toBeInstanceOf(OptionError);
    expect(error).toMatchObject({ option, remedy: expect.stringMatching(/\w/) });
  });
});

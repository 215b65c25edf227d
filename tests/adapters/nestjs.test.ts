import 'reflect-metadata';
import { Logger, Module, Scope } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterEach, describe, expect, it } from 'vitest';
import {
  LeaderOnly,
  SingletonCron,
  TenureModule,
  tenureSchedule,
} from '../../src/adapters/nestjs/index.js';
import { StoreMisconfiguredError } from '../../src/errors/index.js';
import { Jobs, type RunContext, type Schedule } from '../../src/schedule/index.js';
import { MemoryJobs, memoryJobs } from '../../src/schedule/memory/index.js';
import { altered } from '../support/altered.js';

/** Decorates a method as the compiler does for `@decorator method()`. */
function decorate(kind: { prototype: object }, method: string, ...decorators: MethodDecorator[]) {
  const descriptor = Object.getOwnPropertyDescriptor(kind.prototype, method);
  if (descriptor === undefined) throw new Error(`there is no method ${method}`);
  for (const decorator of decorators) decorator(kind.prototype, method, descriptor);
  Object.defineProperty(kind.prototype, method, descriptor);
}

class Payments {
  readonly runs: RunContext[] = [];
  readonly warmed: string[] = [];

  settle(context: RunContext): void {
    this.runs.push(context);
  }

  warm(what: string): string {
    this.warmed.push(what);
    return what;
  }
}
decorate(Payments, 'settle', SingletonCron('* * * * * *', { name: 'settle' }));
decorate(Payments, 'warm', LeaderOnly());

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

async function application(state: MemoryJobs, id: string) {
  class Root {}
  const store = memoryJobs(state);
  Module({ imports: [TenureModule.forRoot({ store, id, ttlMs: 6_000 })], providers: [Payments] })(
    Root,
  );
  const app = await NestFactory.createApplicationContext(Root, { logger: false });
  open.push(app);
  return { app, payments: app.get(Payments), schedule: app.get<Schedule>(tenureSchedule) };
}

describe('a NestJS application', () => {
  it('runs a method as a job of the whole fleet, bound to its provider', async () => {
    const state = new MemoryJobs();
    const fleet = [await application(state, 'a'), await application(state, 'b')];
    const ran = () => fleet.flatMap(({ payments }) => payments.runs.map(({ run }) => run.id));
    await expect.poll(() => ran().length, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    expect(new Set(ran()).size).toBe(ran().length);
    const [listing] = await new Jobs(memoryJobs(state)).list();
    expect(listing).toMatchObject({ job: 'settle', election: 'schedule' });
  }, 30_000);

  it('calls a method that is for the leader alone while it leads', async () => {
    const { payments, schedule, app } = await application(new MemoryJobs(), 'a');
    await expect.poll(() => payments.warm('cache'), { timeout: 20_000 }).toBe('cache');
    await app.close();
    expect(payments.warm('again')).toBeUndefined();
    expect(payments.warmed).not.toContain('again');
    expect(() => schedule.start()).toThrow('closed');
  }, 30_000);

  it('has one job of a provider that has two names', async () => {
    class Root {}
    const store = memoryJobs(new MemoryJobs());
    Module({
      imports: [TenureModule.forRoot({ store, id: 'a', ttlMs: 6_000 })],
      providers: [Payments, { provide: 'payments', useExisting: Payments }],
    })(Root);
    const app = await NestFactory.createApplicationContext(Root, { logger: false });
    open.push(app);
    await expect.poll(() => app.get(Payments).runs.length, { timeout: 20_000 }).toBeGreaterThan(0);
    expect((await new Jobs(store).list()).map(({ job }) => job)).toEqual(['settle']);
  }, 30_000);

  it('does not begin with a job that nobody has an instance for', async () => {
    class Root {}
    const store = memoryJobs(new MemoryJobs());
    Module({
      imports: [TenureModule.forRoot({ store, id: 'a', ttlMs: 6_000 })],
      providers: [{ provide: Payments, useClass: Payments, scope: Scope.REQUEST }],
    })(Root);
    const starting = NestFactory.createApplicationContext(Root, {
      ...{ logger: false, abortOnError: false },
    });
    await expect(starting).rejects.toThrow('@SingletonCron() is in a controller, or in a provider');
    await store.close();
  });

  it('tells its logger what keeps its jobs from running', async () => {
    const told: string[] = [];
    const tell = (message: string) => told.push(message);
    const logger = { log: () => {}, warn: tell, error: tell };
    class Root {}
    const store = memoryJobs(new MemoryJobs());
    Module({
      imports: [
        TenureModule.forRoot({
          store: altered(store, {
            look: () => Promise.reject(new StoreMisconfiguredError('no tables')),
          }),
          id: 'a',
        }),
      ],
      providers: [Payments],
    })(Root);
    open.push(await NestFactory.createApplicationContext(Root, { logger }));
    await expect.poll(() => told, { timeout: 20_000 }).toContain('gave up leading: no tables');
    Logger.overrideLogger(false);
  }, 30_000);

  it('says which option of the compiler its decorators need', () => {
    for (const [name, decorator] of Object.entries({
      LeaderOnly: LeaderOnly(),
      SingletonCron: SingletonCron('@daily'),
    })) {
      const standard = decorator as (method: unknown, context: unknown) => unknown;
      const context = { kind: 'method', name: 'settle', static: false };
      expect(() => standard(() => {}, context)).toThrow(
        `@${name}() was called as a standard decorator, since experimentalDecorators is off: set "experimentalDecorators": true`,
      );
    }
    expect(() => LeaderOnly()(Payments.prototype, 'runs', undefined as never)).toThrow(
      'is not a method',
    );
  });

  it('takes options that other providers give', async () => {
    class Root {}
    const store = memoryJobs(new MemoryJobs());
    const module = TenureModule.forRootAsync({ useFactory: async () => ({ store, id: 'a' }) });
    Module({ imports: [module] })(Root);
    const app = await NestFactory.createApplicationContext(Root, { logger: false });
    open.push(app);
    expect(app.get<Schedule>(tenureSchedule).elections.map(({ name }) => name)).toEqual([
      'schedule',
    ]);
  });
});

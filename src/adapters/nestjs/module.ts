import type { DynamicModule, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { requireObject } from '../../errors/checks.js';
import { OptionError } from '../../errors/index.js';
import {
  type JobStore,
  type JobWork,
  Schedule,
  type ScheduleOptions,
} from '../../schedule/index.js';
import { noteLeading, noteSpread } from './leader-only.js';
import { type JobMetadata, jobMetadata } from './singleton-cron.js';

export interface TenureModuleOptions extends ScheduleOptions {
  /** From `postgresJobs`, `redisJobs`, `sqliteJobs` or `memoryJobs`. Closed with the application. */
  readonly store: JobStore;
}

export interface TenureModuleAsyncOptions {
  readonly imports?: DynamicModule['imports'];
  /** What `useFactory` is called with. */
  readonly inject?: unknown[];
  readonly useFactory: (...values: never[]) => TenureModuleOptions | Promise<TenureModuleOptions>;
}

/** Where the options are provided. */
const optionsToken = Symbol('tenure options');
/** Where the {@link Schedule} of the application is provided: `@Inject(tenureSchedule) schedule: Schedule`. */
export const tenureSchedule = Symbol('tenure schedule');

/** Finds the methods that are jobs when the application has started, and stops their schedule before it ends. */
class JobExplorer implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: TenureModuleOptions;
  readonly #schedule: Schedule;
  readonly #discovery: DiscoveryService;
  readonly #scanner: MetadataScanner;
  readonly #reflector: Reflector;

  constructor(
    options: TenureModuleOptions,
    schedule: Schedule,
    discovery: DiscoveryService,
    scanner: MetadataScanner,
    reflector: Reflector,
  ) {
    this.#options = options;
    this.#schedule = schedule;
    this.#discovery = discovery;
    this.#scanner = scanner;
    this.#reflector = reflector;
  }

  onApplicationBootstrap(): void {
    for (const { instance, name } of this.#discovery.getProviders())
      if (typeof instance === 'object' && instance !== null) this.#explore(instance, String(name));
    this.#schedule.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#schedule.close();
    await this.#options.store.close();
  }

  #explore(instance: object, provider: string): void {
    const prototype: object | null = Object.getPrototypeOf(instance);
    if (prototype === null) return;
    for (const method of this.#scanner.getAllMethodNames(prototype)) {
      const work: unknown = Reflect.get(instance, method);
      if (typeof work !== 'function') continue;
      const job = this.#reflector.get<JobMetadata | undefined>(jobMetadata, work);
      if (job === undefined) continue;
      const { name = `${provider}.${method}`, ...options } = job.options;
      this.#schedule.job(name, { ...options, cron: job.cron }, work.bind(instance) as JobWork);
    }
  }
}

/**
 * Leader election and scheduled jobs for a NestJS application (10 and later):
 *
 * ```ts
 * imports: [TenureModule.forRoot({ store: postgresJobs(process.env.DATABASE_URL) })]
 * ```
 *
 * Its schedule has the methods that are marked with {@link SingletonCron}, begins when the application has started, and
 * stops in `onApplicationShutdown`, which Nest calls on signals if the application says `enableShutdownHooks()`.
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class
export class TenureModule {
  /** @throws {OptionError} */
  static forRoot(options: TenureModuleOptions): DynamicModule {
    requireObject('options', options, 'pass { store }');
    return dynamicModule({ provide: optionsToken, useValue: options }, []);
  }

  /** The same with options that need other providers. */
  static forRootAsync({
    imports = [],
    inject = [],
    useFactory,
  }: TenureModuleAsyncOptions): DynamicModule {
    const provider = { provide: optionsToken, inject: inject as never[], useFactory };
    return dynamicModule(provider, imports);
  }
}

function dynamicModule(
  options: NonNullable<DynamicModule['providers']>[number],
  imports: NonNullable<DynamicModule['imports']>,
): DynamicModule {
  return {
    module: TenureModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      options,
      { provide: tenureSchedule, inject: [optionsToken], useFactory: scheduleOf },
      {
        provide: JobExplorer,
        inject: [optionsToken, tenureSchedule, DiscoveryService, MetadataScanner, Reflector],
        useFactory: (
          ...parts: [TenureModuleOptions, Schedule, DiscoveryService, MetadataScanner, Reflector]
        ) => new JobExplorer(...parts),
      },
    ],
    exports: [tenureSchedule],
  };
}

function scheduleOf(options: TenureModuleOptions): Schedule {
  const { store, ...rest } = requireObject('options', options, 'return { store }');
  if (store === undefined)
    throw new OptionError('store', store, 'is missing', 'pass postgresJobs(url), or another');
  const schedule = new Schedule(store, rest);
  if (rest.spread === true) noteSpread();
  const ends = new Map<object, () => void>();
  schedule.events.on('leading', ({ lease }) => ends.set(lease, noteLeading()));
  schedule.events.on('stoppedLeading', ({ lease }) => {
    ends.get(lease)?.();
    ends.delete(lease);
  });
  return schedule;
}

import {
  type DynamicModule,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import { type Known, requireKnown } from '../../errors/checks.js';
import { OptionError, redactSecrets } from '../../errors/index.js';
import type { Lease } from '../../leases/index.js';
import {
  type JobStore,
  type JobWork,
  Schedule,
  type ScheduleOptions,
} from '../../schedule/index.js';
import { scheduleKeys } from '../../schedule/schedule.js';
import { provideLeadership } from './leader-only.js';
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

const moduleKeys: Known<TenureModuleOptions> = { ...scheduleKeys, store: true };
const asyncKeys: Known<TenureModuleAsyncOptions> = {
  imports: true,
  inject: true,
  useFactory: true,
};

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
    for (const wrapper of this.#discovery.getControllers()) this.#refuse(wrapper);
    const seen = new Set<object>();
    for (const wrapper of this.#discovery.getProviders()) {
      // Another name of a provider is no other provider.
      if (wrapper.isAlias || seen.has(Object(wrapper.instance))) continue;
      if (!wrapper.isDependencyTreeStatic()) this.#refuse(wrapper);
      else if (typeof wrapper.instance === 'object' && wrapper.instance !== null)
        this.#explore(wrapper.instance);
      seen.add(Object(wrapper.instance));
    }
    this.#schedule.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#schedule.close();
    withdrawals.get(this.#schedule)?.();
    await this.#options.store.close();
  }

  #explore(instance: object): void {
    const { name: provider } = instance.constructor;
    for (const { method, job } of this.#jobsOf(Object.getPrototypeOf(instance))) {
      const { name = `${provider}.${method}`, ...options } = job.options;
      const work = Reflect.get(instance, method).bind(instance) as JobWork;
      this.#schedule.job(name, { ...options, cron: job.cron }, work);
    }
  }

  /** Nobody has an instance of it when a tick is due. */
  #refuse({ metatype }: { readonly metatype: unknown }): void {
    if (typeof metatype !== 'function') return;
    const [found] = this.#jobsOf(metatype.prototype);
    if (found === undefined) return;
    throw new OptionError(
      '@SingletonCron()',
      `${metatype.name}.${found.method}`,
      'is in a controller, or in a provider that is made for each request',
      'put it in a provider of the default scope',
    );
  }

  #jobsOf(prototype: object | null): { readonly method: string; readonly job: JobMetadata }[] {
    if (prototype === null) return [];
    return this.#scanner.getAllMethodNames(prototype).flatMap((method) => {
      const work: unknown = Reflect.get(prototype, method);
      if (typeof work !== 'function') return [];
      const job = this.#reflector.get<JobMetadata | undefined>(jobMetadata, work);
      return job === undefined ? [] : [{ method, job }];
    });
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
    requireKnown('options', options, moduleKeys, 'pass { store }');
    return dynamicModule({ provide: optionsToken, useValue: options }, []);
  }

  /** The same with options that need other providers. */
  static forRootAsync(options: TenureModuleAsyncOptions): DynamicModule {
    const {
      imports = [],
      inject = [],
      useFactory,
    } = requireKnown('options', options, asyncKeys, 'pass { useFactory }');
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

/** An application that is asked for nothing else says what keeps its jobs from running. */
function report({ events }: Schedule, logger: Logger): void {
  const text = (error: unknown) =>
    redactSecrets(error instanceof Error ? error.message : String(error));
  events.on('startFailed', ({ election, error }) =>
    logger.error(`"${election}" cannot be led, and is tried again: ${text(error)}`),
  );
  events.on('stopped', ({ election, error }) =>
    logger.error(`this process takes no part in "${election}" any more: ${text(error)}`),
  );
  events.on('leadershipFailed', ({ error }) => logger.error(`gave up leading: ${text(error)}`));
  events.on('storeFailed', ({ error }) => logger.warn(text(error)));
  events.on('jobElsewhere', ({ job, election }) =>
    logger.warn(`the job "${job}" is led in the election "${election}"; name or spread differ`),
  );
  events.on('leftOut', ({ election, leaderId, jobs }) =>
    logger.warn(
      `${leaderId} leads "${election}" and does not run: ${jobs.join(', ')}. Give each application a name of its own, if this is no deploy under way`,
    ),
  );
  events.on('jobCorrupt', ({ job, error }) =>
    logger.error(`the job "${job}" is not run: ${text(error)}`),
  );
  events.on('runOverdue', ({ run }) =>
    logger.error(`${run.id} was told to stop and goes on: nothing else of its job begins`),
  );
  events.on('runFailed', ({ run, error }) => logger.warn(`${run.id} failed: ${text(error)}`));
  events.on('runEnded', ({ run }) => {
    if (run.state !== 'succeeded') logger.error(`${run.id} ${run.state}: ${run.detail ?? ''}`);
  });
}

/** What ends with the schedule of an application. */
const withdrawals = new WeakMap<Schedule, () => void>();

function scheduleOf(options: TenureModuleOptions): Schedule {
  const { store, ...rest } = requireKnown('options', options, moduleKeys, 'return { store }');
  if (store === undefined)
    throw new OptionError('store', store, 'is missing', 'pass postgresJobs(url), or another');
  const schedule = new Schedule(store, rest);
  const leases = new Set<Lease>();
  schedule.events.on('leading', ({ lease }) => leases.add(lease));
  schedule.events.on('stoppedLeading', ({ lease }) => leases.delete(lease));
  report(schedule, new Logger('Tenure'));
  const isSpread = rest.spread === true;
  withdrawals.set(schedule, provideLeadership({ leases, isSpread }));
  return schedule;
}

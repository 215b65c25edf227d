/**
 * Leader election and scheduled jobs in a NestJS application: `import { TenureModule } from 'tenure/nestjs'`. Needs the
 * packages `@nestjs/common` and `@nestjs/core`, 10 or later.
 */
export * from './adapters/nestjs/index.js';

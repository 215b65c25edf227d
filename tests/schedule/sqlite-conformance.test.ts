import { describe, it } from 'vitest';
import { registerJobStoreConformance } from '../../src/testing.js';
import { sqliteSubject } from './sqlite-target.js';

registerJobStoreConformance(
  { name: 'sqlite', impossible: {}, create: sqliteSubject },
  { describe, it },
);

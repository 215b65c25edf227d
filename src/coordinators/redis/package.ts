import { requireIoredis } from '../../drivers/redis/ioredis.js';

/** Loads the package that Redis is reached with. @throws {OptionError} that says what to install. */
export async function requirePackage(): Promise<void> {
  await requireIoredis();
}

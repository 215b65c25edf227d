/** What a user of the package sees who has no SQLite. Run from a folder in which nothing but the package is installed. */
process.getBuiltinModule = /** @type {any} */ (() => undefined);

const { sqliteCoordinator } = await import('tenure/sqlite');
console.log('imported');
const coordinator = sqliteCoordinator(process.argv[2] ?? '');
const call = () => coordinator.read(['name'], { timeoutMs: 10_000 });
await call().catch((error) => console.log(`${error.name} ${error.code}: ${error.message}`));
await call().catch((error) => console.log(`again ${error.name}`));
await coordinator.close();
console.log('closed');

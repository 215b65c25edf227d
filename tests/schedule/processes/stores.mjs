/**
 * Opens a store of jobs by its name, by the package as it was built.
 *
 * @param {string} name
 * @param {string} url
 * @param {string} namespace
 * @returns {Promise<import('tenure/schedule').JobStore>}
 */
export async function openStore(name, url, namespace) {
  switch (name) {
    case 'PostgreSQL':
      return (await import('tenure/postgres')).postgresJobs(url, { namespace });
    case 'SQLite':
      return (await import('tenure/sqlite')).sqliteJobs(url, { namespace });
    case 'Redis':
      return (await import('tenure/redis')).redisJobs(url, { namespace });
    default:
      throw new Error(`no store of jobs is called ${name}`);
  }
}

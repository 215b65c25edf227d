/** How a URL of it begins. */
export const mysqlSchemes = /^(?:mysql|mariadb):/i;

/** It holds no leases, so no other command takes such a URL. */
export function isMysqlUrl(url: string | undefined): url is string {
  return url !== undefined && mysqlSchemes.test(url);
}

/** How its URLs look, for help and remedies. */
export const mysqlForm = 'mysql://host:port';

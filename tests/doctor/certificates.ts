import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findOpenssl } from '../../scripts/server-binaries.mjs';
import type { EtcdCertificates } from '../support/servers/index.js';

/** An authority, and a certificate of it for 127.0.0.1 that does for servers and clients, in a folder of the caller's. */
export function certificatesIn(folder: string): EtcdCertificates {
  const [ca, caKey, cert, key, request, extensions] = [
    ...['ca.pem', 'ca.key', 'cert.pem', 'cert.key', 'request', 'extensions'],
  ].map((name) => join(folder, name)) as [string, string, string, string, string, string];
  const openssl = (...args: string[]) =>
    execFileSync(findOpenssl() ?? 'openssl', args, { stdio: 'pipe' });
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=doctor'];
  openssl('req', '-x509', ...fresh, '-days', '2', ...subject, '-keyout', caKey, '-out', ca);
  openssl('req', ...fresh, '-subj', '/CN=member', '-keyout', key, '-out', request);
  writeFileSync(
    extensions,
    'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  openssl(
    ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial'],
    ...['-days', '2', '-extfile', extensions, '-out', cert],
  );
  return { ca, cert, key };
}

import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { encodeName, type Holder } from '../../../src/coordinators/index.js';
import type { FencingToken } from '../../../src/fences/index.js';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Of a problem document. */
  readonly problem: Record<string, unknown>;
}

export interface Sending {
  readonly method?: string;
  /** A list sends the header several times. */
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
  readonly agent?: Agent;
}

/** A request that says what it is told to, however wrong; `fetch` would put things right. */
export async function send(
  url: string,
  { method = 'POST', headers = {}, body, agent }: Sending = {},
): Promise<Reply> {
  return await new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: agent ?? new Agent() }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => resolve(replyOf(incoming, Buffer.concat(chunks).toString())));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function replyOf({ statusCode = 0, headers }: IncomingMessage, body: string): Reply {
  const isProblem = headers['content-type']?.startsWith('application/problem+json') === true;
  const problem = isProblem && body !== '' ? (JSON.parse(body) as Record<string, unknown>) : {};
  return { status: statusCode, headers, body, problem };
}

/** The three headers, written independently of the sources. */
export function headersFor({ name, term, holder }: FencingToken): Record<string, string> {
  return {
    'Fencing-Token': `${term}`,
    'Fencing-Holder': (holder as Holder).digest,
    'Fencing-Resource': encodeName(name),
  };
}

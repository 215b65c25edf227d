import { type Agent, type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { kindTold } from '../../errors/error-kind.js';
import { type ErrorKind, ofKind } from '../../errors/kinds.js';
import type { Runtime } from '../../time/index.js';
import { connectFailure, connectFailureKind, type Spoken } from '../connect-failure.js';
import { NoAnswerError } from '../deadline.js';
import type { Endpoint } from '../endpoint.js';
import { NoAnswer } from './errors.js';

/** What a member is asked first, which tells its version. */
export const greetingPath = '/version';

export interface Exchange {
  readonly endpoint: Endpoint;
  readonly agent: Agent;
  readonly isTls: boolean;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body: string;
  readonly token: string | undefined;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** How long an answer may be. The largest is a list of names with their metadata. */
const longestReplyBytes = 256 * 1024 * 1024;

export function open(exchange: Exchange): ClientRequest {
  const { endpoint, agent, isTls, method, path, body, token } = exchange;
  const send = isTls ? httpsRequest : httpRequest;
  const request = send({
    host: endpoint.host,
    port: endpoint.port,
    agent,
    method,
    path,
    headers: {
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      'content-length': Buffer.byteLength(body),
      ...(token === undefined ? {} : { authorization: token }),
    },
  });
  request.end(body);
  return request;
}

/**
 * One request and its answer, within `timeoutMs`; a request that had none by then gives up its connection.
 *
 * @throws {NoAnswer}
 */
export function exchange(
  runtime: Runtime,
  parts: Exchange,
  timeoutMs: number,
  onSocket: (socket: Socket) => void,
): Promise<Reply> {
  const { host, port } = parts.endpoint;
  return new Promise((resolve, reject) => {
    const request = open(parts);
    let wasSent = false;
    // Before the first greeting is answered, it may be no etcd at all.
    const isAcquainted = () => wasSent && parts.path !== greetingPath;
    const fail = (
      why: string,
      kind: ErrorKind | undefined,
      { separator = ' ', isSilence = false } = {},
    ) => {
      timer.cancel();
      const text = `${host}:${port}${separator}${why}`;
      reject(ofKind(kind, new NoAnswer(text, wasSent, isSilence)));
      request.destroy();
    };
    const failToConnect = (why: unknown, isSilence: boolean) =>
      fail(connectFailure(why, spokenOver(parts.isTls)), connectFailureKind(why), {
        separator: ': ',
        isSilence,
      });
    const timer = runtime.setTimer(timeoutMs, () => {
      const silence = new NoAnswerError(timeoutMs);
      if (isAcquainted()) fail(`gave ${silence.message}`, 'timeout', { isSilence: true });
      else failToConnect(silence, true);
    });
    request.on('socket', (socket) => {
      onSocket(socket);
      const sent = () => {
        wasSent = true;
      };
      if (!socket.connecting && !('secureConnecting' in socket && socket.secureConnecting)) sent();
      else socket.once(parts.isTls ? 'secureConnect' : 'connect', sent);
    });
    request.on('error', (error) => {
      if (isAcquainted()) fail(`failed: ${codeOf(error)}`, kindTold(error));
      else failToConnect(error, false);
    });
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      let size = 0;
      response.on('data', (piece: Buffer) => {
        size += piece.length;
        if (size > longestReplyBytes) fail('sent an answer that is too long', undefined);
        else pieces.push(piece);
      });
      response.on('error', (error) =>
        fail(`broke off its answer: ${codeOf(error)}`, kindTold(error)),
      );
      response.on('end', () => {
        timer.cancel();
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(pieces).toString('utf8') });
      });
    });
  });
}

function spokenOver(isTls: boolean): Spoken {
  const otherwise = isTls ? 'etcd://' : 'etcds://';
  return {
    protocol: 'etcd',
    isTls,
    otherwise,
    trust: 'name the file of its authority with ?ca=FILE',
  };
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : error.name;
}

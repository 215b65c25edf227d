import { validateName } from '../../coordinators/index.js';
import { OptionError, StaleTermError } from '../../errors/index.js';
import { withDeadline } from '../../time/index.js';
import type { FencingToken } from '../contract.js';
import { MalformedHeader, type Presented, type ReadHeader, readPresented } from './headers.js';
import {
  type HttpFenceOptions,
  type HttpFenceResource,
  type ResolvedHttpFence,
  resolveHttpFence,
} from './options.js';
import { type FencingProblem, problem, problemMediaType, problemOf } from './problems.js';
import { tokenFrom } from './tokens.js';

/** A request as every framework can show it. */
export interface Asked<Request> {
  readonly method: string;
  readonly header: ReadHeader;
  /** What the user's functions are given. */
  readonly request: Request;
}

/** An answer in place of the service's. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The service may go on, with a token or without, or the answer is this. */
export type Admission =
  | { readonly answer: undefined; readonly token: FencingToken | undefined }
  | { readonly answer: Answer };

/** The way of a refusal through the steps below. */
class Refusal {
  readonly problem: FencingProblem;
  readonly cause: unknown;

  constructor(document: FencingProblem, cause?: unknown) {
    this.problem = document;
    this.cause = cause;
  }
}

/**
 * The fence of a service, without a framework: from the headers of a request to "go on" or an answer. It reads no body.
 *
 * What a client can get wrong is judged before the store is asked, so that nothing it invents is ever installed.
 */
export class Gate<Request> {
  readonly #options: ResolvedHttpFence<Request>;

  constructor(options: HttpFenceOptions<Request>) {
    this.#options = resolveHttpFence(options);
  }

  async admit(asked: Asked<Request>): Promise<Admission> {
    if (!this.#options.isFenced(asked.method)) return { answer: undefined, token: undefined };
    const outcome = await this.#judge(asked);
    if (!(outcome instanceof Refusal)) return { answer: undefined, token: outcome };
    this.#options.onRefused({
      problem: outcome.problem,
      request: asked.request,
      cause: outcome.cause,
    });
    return { answer: this.#answer(outcome.problem) };
  }

  async #judge(asked: Asked<Request>): Promise<FencingToken | undefined | Refusal> {
    const presented = readPresented(asked.header);
    if (presented === undefined) return this.#options.required ? tokenRequired() : undefined;
    if (presented instanceof MalformedHeader) return malformed(presented);
    const ahead = await this.#judgeHeight(presented);
    if (ahead !== undefined) return ahead;
    const name = await this.#nameOf(presented, asked.request);
    return name instanceof Refusal ? name : await this.#claim(tokenFrom(name, presented));
  }

  /** An absurd term, once installed, would refuse every owner to come. */
  async #judgeHeight({ term }: Presented): Promise<Refusal | undefined> {
    let highest: number;
    try {
      highest = await this.#options.highestTerm();
    } catch (error) {
      return unavailable('How high terms can be could not be looked up.', error, { term });
    }
    if (term <= highest) return undefined;
    const detail = `Term ${term} is above ${highest}, the highest that this service takes, so no store has granted it.`;
    return new Refusal(problem('term-too-high', detail, { term }));
  }

  async #nameOf({ resource, term }: Presented, request: Request): Promise<string | Refusal> {
    let name: string | undefined;
    try {
      name = await configuredName(this.#options.resource, resource, request);
    } catch (error) {
      return unavailable('The resource of this request could not be looked up.', error, { term });
    }
    if (name !== undefined && (resource === undefined || resource === name)) return name;
    const asksClient = typeof this.#options.resource === 'object';
    return notAccepted(resource, term, name === undefined && !asksClient);
  }

  async #claim(token: FencingToken): Promise<FencingToken | Refusal> {
    const { runtime, timeoutMs, fence } = this.#options;
    const { name: resource, term } = token;
    try {
      await withDeadline(runtime, timeoutMs, `the claim of "${resource}"`, fence.claim(token));
      return token;
    } catch (error) {
      if (error instanceof StaleTermError) return new Refusal(problemOf(error), error);
      // Whatever it is, the fence has not said yes.
      const detail =
        'The store of the fence could not be asked, and the request was not handled. Whether its term was installed is not known.';
      return unavailable(detail, error, { resource, term });
    }
  }

  #answer(document: FencingProblem): Answer {
    const headers: Record<string, string> = {
      'content-type': problemMediaType,
      'cache-control': 'no-store',
    };
    if (document.status === 503)
      headers['retry-after'] = String(Math.ceil(this.#options.retryAfterMs / 1000));
    return { status: document.status, headers, body: JSON.stringify(document) };
  }
}

/** The server's name for the request; `undefined` if it has none, or does not accept the client's. */
async function configuredName<Request>(
  configured: HttpFenceResource<Request>,
  presented: string | undefined,
  request: Request,
): Promise<string | undefined> {
  if (typeof configured === 'string') return configured;
  if (typeof configured === 'function') {
    const name: unknown = await configured(request);
    if (name === undefined) return undefined;
    if (typeof name === 'string') return validateName(name, 'resource');
    const remedy = 'let the function answer a name, or undefined for none';
    throw new OptionError('resource', name, 'is not a text', remedy);
  }
  if (presented === undefined) return undefined;
  // Strictly: a check that answers a row, or forgets to answer, has not said yes.
  return (await configured.accepts(presented, request)) === true ? presented : undefined;
}

function tokenRequired(): Refusal {
  const detail =
    'Send the term in Fencing-Token, the digest of its holder in Fencing-Holder, and the name in Fencing-Resource.';
  return new Refusal(problem('token-required', detail));
}

function malformed({ header, expected }: MalformedHeader): Refusal {
  return new Refusal(problem('malformed-header', `${header} has to be ${expected}.`));
}

/** @param isNameless the service has no resource for the request, whatever the client names. */
function notAccepted(resource: string | undefined, term: number, isNameless: boolean): Refusal {
  const detail = isNameless
    ? 'The service names no resource for this request: nothing that a client sends can be accepted here.'
    : resource === undefined
      ? 'Name the resource in Fencing-Resource.'
      : 'Fencing-Resource names another resource than this request may write to.';
  return new Refusal(problem('resource-not-accepted', detail, { term }));
}

function unavailable(
  detail: string,
  cause: unknown,
  particulars: { readonly resource?: string; readonly term: number },
): Refusal {
  return new Refusal(problem('store-unavailable', detail, particulars), cause);
}

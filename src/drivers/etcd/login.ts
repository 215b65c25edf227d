import type { Endpoint } from '../endpoint.js';
import type { Deadline } from './deadline.js';
import { AuthNotEnabled, NoAnswer, OutOfTime } from './errors.js';
import type { EtcdLocation } from './location.js';

type Authenticate = (
  endpoint: Endpoint,
  body: string,
  what: string,
  deadline: Deadline,
) => Promise<unknown>;

/** The promise's outcome, or within the deadline a {@link NoAnswer}. */
type Within = <Value>(promise: Promise<Value>, what: string, deadline: Deadline) => Promise<Value>;

/** The token that stands for user and password: one for all members, until one of them does not take it any more. */
export class Login {
  readonly #location: Pick<EtcdLocation, 'user' | 'password'>;
  readonly #authenticate: Authenticate;
  readonly #within: Within;
  #token: Promise<string | undefined> | undefined;

  constructor(
    location: Pick<EtcdLocation, 'user' | 'password'>,
    authenticate: Authenticate,
    within: Within,
  ) {
    this.#location = location;
    this.#authenticate = authenticate;
    this.#within = within;
  }

  /** `undefined` without a user, or where the cluster has no use for one. */
  async token(endpoint: Endpoint, what: string, deadline: Deadline): Promise<string | undefined> {
    const { user: name, password = '' } = this.#location;
    if (name === undefined) return undefined;
    for (;;) {
      const isOwn = this.#token === undefined;
      this.#token ??= this.#ask(endpoint, JSON.stringify({ name, password }), what, deadline);
      const token = this.#token;
      try {
        return await this.#within(token, what, deadline);
      } catch (error) {
        if (this.#token === token) this.#token = undefined;
        // The call that began to log in may have had less time, or asked a member that hangs.
        if (isOwn || !(error instanceof NoAnswer) || error instanceof OutOfTime) throw error;
      }
    }
  }

  forget(): void {
    this.#token = undefined;
  }

  async #ask(
    endpoint: Endpoint,
    body: string,
    what: string,
    deadline: Deadline,
  ): Promise<string | undefined> {
    try {
      const raw = await this.#authenticate(endpoint, body, what, deadline);
      return (raw as { token?: string }).token;
    } catch (error) {
      if (error instanceof AuthNotEnabled) return undefined;
      // Nothing but the login was sent.
      if (error instanceof NoAnswer) throw error.notExecuted();
      throw error;
    }
  }
}

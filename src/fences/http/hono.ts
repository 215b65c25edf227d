import { Gate } from './admission.js';
import type { HttpFenceOptions } from './options.js';
import { rememberToken } from './tokens.js';

/** What the fence uses of a context of Hono. */
export interface HonoLikeContext {
  readonly req: {
    readonly method: string;
    header(name: string): string | undefined;
  };
}

/**
 * The fence as a middleware of Hono: `app.use(honoFence(options))`. `resource` sees `context.req.param()` where it is
 * mounted on a route. The body has not been read by then.
 *
 * @throws {OptionError} if an option is not usable.
 */
export function honoFence<Context extends HonoLikeContext = HonoLikeContext>(
  options: HttpFenceOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const gate = new Gate(options);
  return async (context, next) => {
    const { method } = context.req;
    const header = (name: string) => context.req.header(name);
    const admission = await gate.admit({ method, header, request: context });
    if (admission.answer !== undefined) {
      const { status, headers, body } = admission.answer;
      return new Response(body, { status, headers });
    }
    rememberToken(admission.token, context, context.req);
    await next();
    return undefined;
  };
}

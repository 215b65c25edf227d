/**
 * What a process of the electorate says to the test that started it, and what it asks there: every write goes to a resource
 * in the parent, which accepts or refuses it.
 */

/** The kernel's clock in ms, which is the same in every process and which nobody can set. */
export const kernelMs = () => Number(process.hrtime.bigint()) / 1e6;

/** @type {Map<number, (wasAccepted: boolean) => void>} */
const awaited = new Map();
let writeCount = 0;

/** @param {object} message */
function send(message) {
  if (process.connected) process.send?.(message);
}

/** @param {string} event @param {object} [facts] */
export function tell(event, facts) {
  send({ type: 'event', event, atMs: kernelMs(), ...facts });
}

/**
 * Is on its way when this returns; resolves with whether it was accepted.
 *
 * @param {import('tenure').Lease} lease
 * @returns {Promise<boolean>}
 */
export function write({ term, holder }) {
  writeCount += 1;
  send({
    type: 'write',
    number: writeCount,
    writer: { term, id: holder.id, digest: holder.digest },
  });
  const number = writeCount;
  return new Promise((resolve) => awaited.set(number, resolve));
}

/**
 * Work that writes whenever it may, until it is to stop; a lease that is given back then leaves no write on its way.
 *
 * @param {number} everyMs
 * @param {(lease: import('tenure').Lease) => void} [began]
 */
export function writing(everyMs, began) {
  /** @type {import('tenure').Work<void>} */
  const work = async (lease, { stopping }) => {
    began?.(lease);
    while (!stopping.aborted) {
      if (lease.state === 'held') await write(lease);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  };
  return work;
}

/** @param {Record<string, (command: any) => unknown>} commands */
export function obey(commands) {
  process.on('message', async (/** @type {any} */ message) => {
    if (message.type === 'verdict') {
      awaited.get(message.number)?.(message.wasAccepted);
      awaited.delete(message.number);
      return;
    }
    const { number, command } = message;
    try {
      send({ type: 'answer', number, value: await commands[command]?.(message) });
    } catch (error) {
      send({ type: 'answer', number, error: String(error) });
    }
  });
  process.on('disconnect', () => process.exit());
}

/** Tells everything about an election. @param {import('tenure').Election} election @param {object} [facts] */
export function report(election, facts) {
  const { events } = election;
  events.on('elected', ({ lease }) => {
    const { term, signal } = lease;
    const aborted = () => tell('aborted', { ...facts, term, state: lease.state });
    signal.addEventListener('abort', aborted, { once: true });
    tell('elected', { ...facts, term });
  });
  for (const how of /** @type {const} */ (['lost', 'resigned']))
    events.on(how, ({ lease, reason }) => tell(how, { ...facts, term: lease.term, reason }));
  events.on('workFailed', ({ term, error }) =>
    tell('workFailed', { ...facts, term, error: String(error) }),
  );
  events.on('workOverdue', ({ term }) => tell('workOverdue', { ...facts, term }));
  events.on('campaignFailed', ({ error }) =>
    tell('campaignFailed', { ...facts, error: nameOf(error) }),
  );
}

/** @param {unknown} error */
export function nameOf(error) {
  return error instanceof Error ? error.constructor.name : String(error);
}

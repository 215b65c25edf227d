// @ts-check
/** What all programs of this example agree on. The address is that of the compose file. */
const {
  DATABASE_URL = 'postgres://tenure:tenure@127.0.0.1:5432/tenure',
  NAMESPACE = 'payments_example',
  TTL_MS = '5000',
  CRON = '30 2 * * *',
  TIME_ZONE = 'Europe/Berlin',
  STEP = '100',
  BANK_MS = '20',
} = process.env;

export const databaseUrl = DATABASE_URL;
/** Keeps fleets apart: everything is in the schema of this name. Letters, digits, underscores. */
export const namespace = NAMESPACE;
/** How long a dead process keeps the leadership. */
export const ttlMs = Number(TTL_MS);
/** When the day is settled, on the clocks of this zone. */
export const cron = CRON;
export const timeZone = TIME_ZONE;
/** So many payments are booked in one transaction. */
export const stepSize = Number(STEP);
/** How long the bank takes for one step. */
export const bankMs = Number(BANK_MS);
/** The name of the job, and of the scope that its effects are recorded in. */
export const job = 'settle-payments';

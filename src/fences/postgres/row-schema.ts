import { highestTerm } from '../../coordinators/index.js';

/** SQLSTATEs of the trigger: nobody else's begin with TN. */
export const carriesNothing = 'TN001';
export const refusedState = 'TN002';

/** @param table quoted. */
export function migrationOf(table: string): string {
  return `ALTER TABLE ${table}
  ADD COLUMN IF NOT EXISTS tenure_term bigint CHECK (tenure_term BETWEEN 1 AND ${highestTerm}),
  ADD COLUMN IF NOT EXISTS tenure_holder text;
`;
}

/**
 * Judges each row that is written by the token that its transaction carries, and installs that.
 *
 * @param table quoted.
 */
export function triggerOf(table: string): string {
  return `CREATE OR REPLACE FUNCTION tenure_guard_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  token text := current_setting('tenure.row_token', true);
  carried bigint;
  digest text;
BEGIN
  IF coalesce(token, '') !~ '^[0-9]{1,16}:[0-9a-f]{32}$' THEN
    RAISE EXCEPTION 'tenure: this transaction carries no token, so it may not write to %', TG_TABLE_NAME
      USING ERRCODE = '${carriesNothing}';
  END IF;
  carried := split_part(token, ':', 1)::bigint;
  digest := split_part(token, ':', 2);
  IF TG_OP <> 'INSERT' AND NOT (OLD.tenure_term IS NULL OR OLD.tenure_term BETWEEN 1 AND carried - 1
      OR (OLD.tenure_term = carried AND OLD.tenure_holder IS NOT DISTINCT FROM digest)) THEN
    RAISE EXCEPTION 'tenure: the row has term %, a write with term % is stale', OLD.tenure_term, carried
      USING ERRCODE = '${refusedState}';
  END IF;
  IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
  NEW.tenure_term := carried;
  NEW.tenure_holder := digest;
  RETURN NEW;
END $$;

DROP TRIGGER IF EXISTS tenure_guard_row ON ${table};
CREATE TRIGGER tenure_guard_row BEFORE INSERT OR UPDATE OR DELETE ON ${table}
  FOR EACH ROW EXECUTE FUNCTION tenure_guard_row();
`;
}

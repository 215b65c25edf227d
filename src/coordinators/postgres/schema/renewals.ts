import { whyNotYours } from './ownership.js';
import { lateState, milliseconds, unixMs } from './shared.js';
import { operation } from './sql-function.js';

/**
 * Extends leases.
 *
 * In: for each request, sorted by name, name, holder, term, ttl and metadata (null: as it is); a list of holders, terms or
 * ttls with one entry stands for all.
 * Out: `failed`: for each one that was not extended its place, from 1 on, and why.
 * Clock: read for each row, and once more for a row that another transaction had changed while this one waited for it. What
 * the row tells as the time of its renewal is that of the call.
 * Keeps true: one statement for any number of leases. It compares holder and term on the newest version of the row. Only
 * rows of the caller's own are locked, so it can wait for nothing but another call of the same holder.
 * Planned anew each time: a plan that does not know the length of the list compares every lease with every request.
 */
export function renew(schema: string): string {
  const isAsked =
    'l.holder = coalesce(r.holder, holders[1]) AND l.term = coalesce(r.term, terms[1])';
  return operation(
    `${schema}.renew(space text, not_after double precision, names text[], holders text[], terms bigint[], ttls integer[], metadatas text[])`,
    'json',
    `DECLARE
  v_mark timestamptz := clock_timestamp();
  v_at timestamptz;
  v_count int;
BEGIN
  IF ${schema}.is_late(not_after) THEN RETURN json_build_object('now', ${unixMs('v_mark')}, 'late', true); END IF;
  PERFORM ${schema}.settle(not_after);
  UPDATE ${schema}.leases AS l SET
    deadline = clock_timestamp() + ${milliseconds('coalesce(r.ttl, ttls[1])')}, renewed_at = v_mark, ttl_ms = coalesce(r.ttl, ttls[1]),
    metadata = coalesce(r.metadata, l.metadata)
  FROM unnest(names, holders, terms, ttls, metadatas) AS r(name, holder, term, ttl, metadata)
  WHERE l.namespace = space AND l.name = r.name AND l.kind = 'lease' AND ${isAsked}
    AND l.revoked_at IS NULL AND l.deadline > clock_timestamp();
  GET DIAGNOSTICS v_count = ROW_COUNT;
  v_at := clock_timestamp();
  -- It waited for somebody's lock until then: what it did is undone.
  IF ${schema}.is_late(not_after) THEN RAISE EXCEPTION 'tenure: too late' USING ERRCODE = '${lateState}'; END IF;
  IF v_count = cardinality(names) THEN RETURN json_build_object('now', ${unixMs('v_at')}); END IF;
  RETURN json_build_object('now', ${unixMs('v_at')}, 'failed', (
    SELECT json_agg(json_build_array(r.ord, ${whyNotYours(isAsked, 'true')}))
    FROM unnest(names, holders, terms) WITH ORDINALITY AS r(name, holder, term, ord)
    LEFT JOIN ${schema}.leases AS l ON l.namespace = space AND l.name = r.name
    WHERE (l.renewed_at = v_mark AND ${isAsked}) IS NOT TRUE));
END`,
    ['plan_cache_mode = force_custom_plan'],
  );
}

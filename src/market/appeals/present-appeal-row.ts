import type { Appeal } from '../../contract/appeals.ts';
import { presentAppeal } from '../catalog/present-listing.ts';
import type { AppealRow } from './store.ts';

/** The same words as in the listing's detail. */
export function presentAppealRow(row: AppealRow): Appeal {
  const facts = {
    id: Number(row.id),
    statement: row.statement,
    created_ms: row.created_at.getTime(),
    outcome: row.outcome,
    outcome_reason: row.outcome_reason,
    decided_ms: row.decided_at === null ? null : row.decided_at.getTime(),
  };
  return presentAppeal(facts, row.listing_id);
}

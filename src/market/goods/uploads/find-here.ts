import { UPLOAD_ID } from '../../../contract/uploads.ts';
import type { Incoming } from '../../../platform/http/message.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market, Merchant } from '../../context.ts';
import { findUpload, stateOf, type Upload } from './store.ts';

interface Asked {
  market: Pick<Market, 'database' | 'clock'>;
  merchant: Pick<Merchant, 'id'>;
  incoming: Pick<Incoming, 'params'>;
}

/** Finds the caller's upload that the address names. Refuses one of somebody else like an unknown one, and one whose bytes are gone. */
export async function findHere({ market, merchant, incoming }: Asked): Promise<Upload> {
  const { id = '' } = incoming.params;
  const upload = UPLOAD_ID.test(id) ? await findUpload(market.database, merchant.id, id) : null;
  if (upload === null) throw new Refusal('upload_not_found');
  if (stateOf(upload, market.clock.now()) === 'deleted') throw new Refusal('upload_ended');
  return upload;
}

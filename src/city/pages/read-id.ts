import { idParam } from '../../contract/paging.ts';
import { Refusal } from '../../platform/refusal.ts';

/** The id in a page's address, by the rule of the API. */
export function readId(params: Readonly<Record<string, string>>): bigint {
  const read = idParam.safeParse({ id: params['id'] });
  if (!read.success) throw new Refusal('not_found');
  return read.data.id;
}

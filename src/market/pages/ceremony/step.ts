import type { FormCall } from '../../../platform/http/server-options.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import type { Market } from '../../context.ts';
import type { Ceremony, Form } from './ceremony.ts';
import type { Standing } from './find-standing.ts';
import type { FormToken } from './form-token.ts';
import { markOf, type StageCookie } from './stage-cookie.ts';

export interface CeremonyParts {
  ceremonies: readonly Ceremony[];
  catalog: Pick<Catalog, 'fresh'>;
}

/** What every step of a form is taken with, once it is known to be this browser's own. */
export interface Step {
  market: Market;
  parts: CeremonyParts;
  ceremony: Ceremony;
  call: FormCall;
  token: FormToken;
  standing: Standing;
}

/** Whether the form stands on a page of a stage before the one that is begun now. */
export function isOfEarlier(form: Form, cookie: StageCookie): boolean {
  return form['mark'] !== undefined && form['mark'] !== markOf(cookie);
}

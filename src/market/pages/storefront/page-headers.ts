import { FOUND_LINKS } from '../found/create-found.ts';
import { HTML_HEADERS } from '../render-html.ts';
import type { PagePlan } from './page-plan.ts';

const VARY = { vary: 'accept, accept-encoding' };
const HTML: Readonly<Record<string, string>> = { ...HTML_HEADERS, ...VARY };
/** Who comes to a host without knowing it asks at the front. */
const FRONT: Readonly<Record<string, string>> = { ...HTML, link: FOUND_LINKS };

/** The same for every answer of a page. */
export function headersOf({ route, document }: Pick<PagePlan, 'route' | 'document'>): Record<string, string> {
  if (document !== undefined) return { 'content-type': document.type, ...VARY };
  return { ...(route === '/' ? FRONT : HTML) };
}

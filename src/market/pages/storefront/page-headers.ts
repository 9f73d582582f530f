import { FOUND_LINKS } from '../found/create-found.ts';
import { HTML_HEADERS } from '../render-html.ts';
import { READING_POLICY } from '../shell/policy.ts';
import type { PagePlan } from './page-plan.ts';

const VARY = { vary: 'accept, accept-encoding' };
const HTML: Readonly<Record<string, string>> = { ...HTML_HEADERS, ...VARY };

const HEADS = new Map<string, readonly string[]>();

/** The headers of every answer of a page, names and values in turn; put together once for each kind of page. */
export function headOf({
  route,
  document,
  connects,
}: Pick<PagePlan, 'route' | 'document' | 'connects'>): readonly string[] {
  const known = HEADS.get(route);
  if (known !== undefined) return known;
  const policy = connects === true ? { 'content-security-policy': READING_POLICY } : {};
  // Programs that come to a host without knowing it ask at the front.
  const links = route === '/' ? { link: FOUND_LINKS } : {};
  const headers =
    document === undefined ? { ...HTML, ...policy, ...links } : { 'content-type': document.type, ...VARY };
  const head = Object.entries(headers).flat();
  HEADS.set(route, head);
  return head;
}

/** The same by name. */
export function headsOf(head: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < head.length; at += 2) headers[head[at] ?? ''] = head[at + 1] ?? '';
  return headers;
}

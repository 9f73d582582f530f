import { FOUND_LINKS } from '../found/create-found.ts';
import { HTML_HEADERS } from '../render-html.ts';
import { READING_POLICY } from '../shell/policy.ts';
import type { PagePlan } from './page-plan.ts';

const VARY = { vary: 'accept, accept-encoding' };
const HTML: Readonly<Record<string, string>> = { ...HTML_HEADERS, ...VARY };
/** Who comes to a host without knowing it asks at the front. */
const FRONT: Readonly<Record<string, string>> = { ...HTML, link: FOUND_LINKS };

/** The same for every answer of a page. */
export function headersOf({
  route,
  document,
  connects,
}: Pick<PagePlan, 'route' | 'document' | 'connects'>): Record<string, string> {
  if (document !== undefined) return { 'content-type': document.type, ...VARY };
  const policy = connects === true ? { 'content-security-policy': READING_POLICY } : {};
  return { ...(route === '/' ? FRONT : HTML), ...policy };
}

const HEADS = new Map<string, readonly string[]>();

/** The same as names and values in turn; put together once for each kind of page. */
export function headOf(plan: PagePlan, isPacked: boolean): readonly string[] {
  const kind = `${plan.route} ${isPacked}`;
  const known = HEADS.get(kind);
  if (known !== undefined) return known;
  const coding = isPacked ? { 'content-encoding': 'gzip' } : {};
  const head = Object.entries({ ...headersOf(plan), ...coding }).flat();
  HEADS.set(kind, head);
  return head;
}

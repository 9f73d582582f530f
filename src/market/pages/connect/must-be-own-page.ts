import type { Incoming } from '../../../platform/http/message.ts';
import { Refusal } from '../../../platform/refusal.ts';

/**
 * Takes only what a page of this market sent. The browser says so itself; an old one names the origin, which for `fetch` is never `null`,
 * whatever the referrer policy. A program sends neither, and has no cookie that another site could make it use.
 */
export function mustBeOwnPage({ headers }: Pick<Incoming, 'headers'>, baseUrl: string): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOwn =
    site === undefined ? origin === undefined || origin === new URL(baseUrl).origin : site === 'same-origin';
  if (!isOwn) throw new Refusal('origin_refused');
}

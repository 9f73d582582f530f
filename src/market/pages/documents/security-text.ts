import { isoTime } from '../../../platform/clock.ts';
import { type ContactFacts, SECURITY_PATH, securityContact } from './contact.ts';

const DAY_MS = 86_400_000;
/** Less than a year, as RFC 9116 wants it. */
const GOOD_FOR_DAYS = 180;

/** Who to tell of a vulnerability, in the form that finders look for (RFC 9116). The same bytes all day. */
export function securityText(config: ContactFacts, nowMs: number): string {
  const { baseUrl } = config;
  const expires = (Math.floor(nowMs / DAY_MS) + GOOD_FOR_DAYS) * DAY_MS;
  return [
    `Contact: ${securityContact(config).url}`,
    `Expires: ${isoTime(expires)}`,
    'Preferred-Languages: en',
    `Canonical: ${baseUrl}${SECURITY_PATH}`,
    `Policy: ${baseUrl}/support`,
    '',
  ].join('\n');
}

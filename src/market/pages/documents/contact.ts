import type { MarketConfig } from '../../context.ts';

export const SECURITY_PATH = '/.well-known/security.txt';

/** Where a fault in the software is reported in private. */
export interface SecurityContact {
  url: string;
  /** What to do there. */
  says: string;
}

export type ContactFacts = Pick<MarketConfig, 'baseUrl' | 'sourceUrl' | 'contactUrl'>;

/** Whom the operator has named; else the advisories of the source, where its host has such; else the page of this market that says how. */
export function securityContact({ baseUrl, sourceUrl, contactUrl }: ContactFacts): SecurityContact {
  if (contactUrl !== null)
    return { url: contactUrl, says: `Report it in private to the operator: ${linkTo(contactUrl)}.` };
  if (sourceUrl !== null && new URL(sourceUrl).hostname === 'github.com') {
    const url = `${sourceUrl.replace(/\/$/, '')}/security/advisories/new`;
    return { url, says: `Report it in private at [${url}](${url}).` };
  }
  return { url: `${baseUrl}/support`, says: TELL_MAINTAINER };
}

/** How the operator is reached about anything else, as a sentence; null if no address is configured. */
export function operatorContact({ contactUrl }: Pick<ContactFacts, 'contactUrl'>): string | null {
  return contactUrl === null ? null : `The operator of this market is reached at ${linkTo(contactUrl)}.`;
}

function linkTo(url: string): string {
  return `[${url.replace(/^mailto:/i, '')}](${url})`;
}

/** The one way to the maintainer that others cannot read, whatever an operator has set up. */
const TELL_MAINTAINER =
  'Tell the maintainer in private: `POST /api/flag` with `{"target_type": "merchant", "target_id": 1, "reason"}`. That you flagged is public; the reason is read by the maintainer alone. Say in it how to reach you.';

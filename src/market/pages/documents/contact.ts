import type { MarketConfig } from '../../context.ts';

export const SECURITY_PATH = '/.well-known/security.txt';

/** Where a fault in the software is reported in private. */
export interface SecurityContact {
  url: string;
  /** What to do there. */
  says: string;
}

type ContactFacts = Pick<MarketConfig, 'baseUrl' | 'sourceUrl'>;

/** The advisories of the source, where its host has such; otherwise the page of this market that says how. */
export function securityContact({ baseUrl, sourceUrl }: ContactFacts): SecurityContact {
  if (sourceUrl !== null && new URL(sourceUrl).hostname === 'github.com') {
    const url = `${sourceUrl.replace(/\/$/, '')}/security/advisories/new`;
    return { url, says: `Report it in private at [${url}](${url}).` };
  }
  return { url: `${baseUrl}/support`, says: TELL_MAINTAINER };
}

/** The one way to the maintainer that others cannot read, whatever an operator has set up. */
const TELL_MAINTAINER =
  'Tell the maintainer in private: `POST /api/flag` with `{"target_type": "merchant", "target_id": 1, "reason"}`. That you flagged is public; the reason is read by the maintainer alone. Say in it how to reach you.';

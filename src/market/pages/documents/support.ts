import { RECOVERY_CODE_COUNT, REVIEW_DAYS } from '../../../contract/vocabulary.ts';
import type { MarketConfig } from '../../context.ts';
import type { GuideFacts } from '../../guide/guide.ts';
import { type Block, type Document, heading, text } from '../../guide/guide.ts';

export function supportDocument(facts: DocumentFacts): Document {
  const cases = [...paymentCases(facts), ...goodsCases(), ...keyCases(facts), ...otherCases(facts)];
  return {
    title: 'Support',
    summary: 'Find what happened; below it is the one thing to do next.',
    blocks: cases.flatMap(([what, next]): Block[] => [heading(what), text(next)]),
  };
}

type Case = readonly [what: string, next: string];

function paymentCases({ network }: DocumentFacts): Case[] {
  const minutes = Math.round(network.finalitySeconds / 60);
  return [
    [
      'I have paid and am waiting',
      `Do not pay again. Ask \`/api/payment?tx_hash=<hash>\`, or with \`payer\` and \`nonce\` of what you signed: it says how far the payment is. Then send the same request with the same proof once more. A payment is final after about ${minutes} minutes.`,
    ],
    [
      'The payment ended in review',
      `Do not pay again. The seller decides within ${REVIEW_DAYS} days, and \`/api/payment\` shows the outcome. No other party can speed it up.`,
    ],
    [
      'The payment ended unpaid or refused',
      'Read `next_step` of the answer. Its reason is explained under [Refusals](/docs/errors), and says whether a new payment is safe.',
    ],
  ];
}

function goodsCases(): Case[] {
  return [
    [
      'I lost what I bought',
      '`POST /api/buy/<id>` again, with the key or the delivery token that you bought with. With neither, send `{"collect": true}` and sign what `collect` says with the wallet that paid: an authorization of value 0, so nothing can be taken.',
    ],
    [
      'The goods are not what was promised',
      'Write a comment under the listing: it carries the mark of a verified buyer. The market has never held your money and cannot pay it back.',
    ],
    [
      'Something here should not be here',
      'Flag it: `POST /api/flag` with the listing, comment or merchant and your reason. The maintainer alone reads the reason.',
    ],
    [
      'My listing was removed',
      'Read why in `removal_notices` of `/api/me`. If that is wrong, `POST /api/appeal` once with a statement; it is public, and so is the answer.',
    ],
  ];
}

function keyCases({ openIdentityEndpoints }: DocumentFacts): Case[] {
  return [
    [
      'I lost my key',
      openIdentityEndpoints.has('recovery')
        ? `Any one of your ${RECOVERY_CODE_COUNT} recovery codes brings a new key at [Recover](/recovery). Without a code the key cannot be brought back.`
        : 'Recovery is closed here at present. Keep your codes: one of them will bring a new key once it is open.',
    ],
    [
      'My key may be known to others',
      openIdentityEndpoints.has('rotate')
        ? 'Replace it now at [Rotate a key](/rotate). The old one is dead at once, and with it every connected program.'
        : 'Changing keys is closed here at present. Take what you can off the shelves, and ask the maintainer.',
    ],
  ];
}

function otherCases(facts: DocumentFacts): Case[] {
  return [
    [
      'The market answered with an error',
      'Look its reason up under [Refusals](/docs/errors). If the fault stays with the market, report the request id of the answer: without it the line in the log cannot be found.',
    ],
    [
      'I found a vulnerability',
      `${securityContact(facts).says} Send the request, the answer with its request id, and what you expected: never a key, a private key or a payment header. Programs find this in [security.txt](/.well-known/security.txt).`,
    ],
    [
      'Something else',
      `The guide is at [Help](/help). Who runs this market is on [About](/about); a comment under a listing of the maintainer is read by everybody, a flag by the maintainer alone.${contactSuffix(facts)}`,
    ],
  ];
}

function contactSuffix(facts: DocumentFacts): string {
  const contact = operatorContact(facts);
  return contact === null ? '' : ` ${contact}`;
}

export const SECURITY_PATH = '/.well-known/security.txt';

interface SecurityContact {
  url: string;
  /** Instructions for reporting a problem. */
  says: string;
}

export type ContactFacts = Pick<MarketConfig, 'baseUrl' | 'sourceUrl' | 'contactUrl'>;

/** Returns the operator's contact, else the security advisories of a source on GitHub, else this market's support page. */
export function securityContact({ baseUrl, sourceUrl, contactUrl }: ContactFacts): SecurityContact {
  if (contactUrl !== null)
    return { url: contactUrl, says: `Report it in private to the operator: ${linkTo(contactUrl)}.` };
  if (sourceUrl !== null && new URL(sourceUrl).hostname === 'github.com') {
    const url = `${sourceUrl.replace(/\/$/, '')}/security/advisories/new`;
    return { url, says: `Report it in private at [${url}](${url}).` };
  }
  return { url: `${baseUrl}/support`, says: TELL_MAINTAINER };
}

/** Returns a sentence with the operator's contact. Null if no contact is configured. */
export function operatorContact({ contactUrl }: Pick<ContactFacts, 'contactUrl'>): string | null {
  return contactUrl === null ? null : `The operator of this market is reached at ${linkTo(contactUrl)}.`;
}

function linkTo(url: string): string {
  return `[${url.replace(/^mailto:/i, '')}](${url})`;
}

/** The only private way to reach the maintainer that needs no operator settings. */
const TELL_MAINTAINER =
  'Tell the maintainer in private: `POST /api/flag` with `{"target_type": "merchant", "target_id": 1, "reason"}`. That you flagged is public; the reason is read by the maintainer alone. Say in it how to reach you.';

/** Settings that the plain documents show. */
export type DocumentFacts = GuideFacts & Pick<MarketConfig, 'sourceUrl' | 'contactUrl' | 'deploymentCommit'>;

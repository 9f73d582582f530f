import { watchText } from './canary.ts';
import type { ConsentPage } from './oauth-client.ts';

/** What a person shows on the page. */
export type ShownProof = { key: string } | { pairingCode: string };

/** A person on the page of a whole market: shows what proves the store, says yes, and is sent on to that address. */
export async function allowOnPage(page: ConsentPage, proof: ShownProof): Promise<string> {
  const [headers, body] =
    'key' in proof ? [{ authorization: `Bearer ${proof.key}` }, {}] : [{}, { pairing_code: proof.pairingCode }];
  await step(page, 'prove', body, headers);
  const { location } = await step(page, 'decide', { decision: 'allow' });
  return String(location);
}

async function step(
  { browser, url }: ConsentPage,
  name: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(`${url}/${name}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      cookie: browser.cookiesFor(url),
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  watchText(`the answer to ${name}`, text);
  if (response.status !== 200) throw new Error(`${name} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

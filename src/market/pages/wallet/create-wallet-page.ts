import { type Incoming, type Outgoing, readOutgoing } from '../../../platform/http/incoming.ts';
import type { Inside, Mount } from '../../../platform/http/mount.ts';
import type { Market, Merchant } from '../../context.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy } from '../shell/policy.ts';
import { renderShell } from '../shell/render-shell.ts';
import { answerRefusal } from '../storefront/answer-refusal.ts';
import type { ListingAnswer } from '../storefront/render-comments.ts';
import { renderWalletPage } from './render-wallet-page.ts';

const PATH = '/listing/:id/buy';

/** The page on which a buyer pays with a wallet in the browser. What it knows of the goods is what the API answers. */
export function createWalletPage(market: Market, inside: Inside<Merchant>): Mount[] {
  const answer = async (incoming: Incoming): Promise<Outgoing> => {
    const params = { id: incoming.params['id'] ?? '' };
    const request = { route: 'GET /api/listing/:id', params, query: 'comments_limit=1' };
    const outgoing = await inside.ask({ ...request, headers: { accept: 'application/json' } }, incoming);
    if (outgoing.status !== 200) return await answerRefusal(outgoing, incoming);
    const { listing } = JSON.parse(await readOutgoing(outgoing)) as ListingAnswer;
    const nonce = market.random.bytes(18).toString('base64url');
    const { title, main } = renderWalletPage(listing, market.config);
    return {
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': walletPolicy(nonce),
        'cache-control': 'private, no-store',
      },
      body: renderShell({
        ...{ title, main, nonce, scripts: [SHELL.walletFlow.path] },
        styles: [SHELL.wallet.path],
      }),
    };
  };
  return [{ method: 'GET', path: PATH, withHead: true, ownOrigin: true, answer }];
}

/** The script asks this market alone, and wallets bring their own pictures with them. */
function walletPolicy(nonce: string): string {
  return `${noncePolicy(nonce).replace("img-src 'self'", "img-src 'self' data:")}; connect-src 'self'`;
}

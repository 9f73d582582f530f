import { readFileSync } from 'node:fs';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { paymentMiddleware, x402ResourceServer } from '@x402/express';
import express from 'express';
import { NETWORK, setting } from './setting.ts';

/** The market's shelves, with the same goods, prices and payees. */
interface Shelves {
  asset: string;
  /** The token's EIP-712 domain. */
  extra: { name: string; version: string };
  maxTimeoutSeconds: number;
  goods: Record<string, { payee: string; priceUnits: string; artifact: string }>;
}

const shelves = JSON.parse(readFileSync(setting('PEER_SHELVES'), 'utf8')) as Shelves;

function goodsAt(path: string) {
  const goods = shelves.goods[path.slice(path.lastIndexOf('/') + 1)];
  if (goods === undefined) throw new Error(`nothing is sold at ${path}`);
  return goods;
}

const facilitator = new HTTPFacilitatorClient({ url: setting('PEER_FACILITATOR_URL') });
const app = express();
app.use(
  paymentMiddleware(
    {
      'POST /buy/*': {
        accepts: {
          scheme: 'exact',
          network: NETWORK,
          payTo: ({ path }) => goodsAt(path).payee,
          price: ({ path }) => ({
            asset: shelves.asset,
            amount: goodsAt(path).priceUnits,
            extra: shelves.extra,
          }),
          maxTimeoutSeconds: shelves.maxTimeoutSeconds,
        },
      },
    },
    new x402ResourceServer(facilitator).register(NETWORK, new ExactEvmScheme()),
  ),
);
app.get('/readyz', (_request, response) => {
  response.json({});
});
app.post('/buy/:id', (request, response) => {
  response.json({ artifact: goodsAt(request.path).artifact });
});
app.listen(Number(setting('PEER_PORT')), '127.0.0.1');

import { openWallet } from '../../src/agent/open-wallet.ts';
import { readPolicy } from '../../src/agent/policy.ts';
import { type SellGoodsOptions, sellGoods } from '../../src/agent/sell-goods.ts';
import { openSpendBook } from '../../src/agent/spend-book.ts';
import { createClient } from '../../src/sdk/client.ts';

// A process that lists what the variable LISTING holds, with the key MERCHANT_KEY at MARKET, under policy and book of its environment.
const { env } = process;
const wallet = await openWallet({ env });
const listing = JSON.parse(env['LISTING'] ?? '') as SellGoodsOptions['listing'];
const { listing_id } = await sellGoods({
  client: createClient({ baseUrl: env['MARKET'] ?? '', key: env['MERCHANT_KEY'] ?? '' }),
  wallet,
  policy: await readPolicy(env),
  book: openSpendBook({ env, address: wallet.address }),
  listing,
});
process.stdout.write(`${listing_id}\n`);

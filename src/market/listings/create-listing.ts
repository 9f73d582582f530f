import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { countCredits } from '../fees/store.ts';
import type { Payments } from '../payments/payments.ts';
import { answerListRequest } from './answer-list-request.ts';
import type { GoodsRequest } from './check-goods.ts';
import { goodsToList } from './goods-to-list.ts';
import type { ListRequest } from './list-request.ts';
import { readFeePayment } from './read-fee-payment.ts';
import { guardKeyOf, readGoods } from './read-goods.ts';
import { readVersion } from './read-version.ts';

type CreateCall = MarketCall<Endpoints['createListing']>;

/** POST /api/listing (W6). */
export function makeCreateListing(payments: Payments): MarketOperation<Endpoints['createListing']> {
  return async (market, call) => {
    const request = readRequest(market, call);
    if (call.query.dry_run === 'true') return await dryRun(market, request);
    return await answerListRequest(market, payments, request);
  };
}

function readRequest(market: Market, call: CreateCall): ListRequest {
  const { fee_payment: _, pay_anew: __, ...body } = call.body;
  const goods = readGoods(body, market.config.limits);
  const { rawBody, ...paying } = readFeePayment(call);
  const merchant = call.caller;
  const guardKey = guardKeyOf(goods, merchant.id);
  const request: GoodsRequest = {
    merchant,
    goods,
    version: readVersion(body),
    rawBody,
    bodyHash: paying.bodyHash,
    guardKey,
  };
  return { merchant, ...paying, subject: goodsToList(market, request) };
}

async function dryRun(
  market: Market,
  { merchant, subject }: ListRequest,
): Promise<AnswerOf<Endpoints['createListing']>> {
  await subject.check();
  const free = merchant.maintainer || (await countCredits(market.database, merchant.id)) > 0n;
  return { status: 200, body: { dry_run: true, would_cost_usdc: free ? 0 : usdcOfUnits(LISTING_FEE_UNITS) } };
}

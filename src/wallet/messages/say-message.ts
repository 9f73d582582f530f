import { usdcText } from '../../contract/money.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import type { Deal } from '../deal.ts';
import { markedText } from '../goods/mark-unseen.ts';
import { sayClock, sayDuration } from '../show/say-time.ts';
import type { TypedMessage } from './typed-message.ts';

/** `4.00 USDC`, as the listing writes it. */
export function sayAmount(units: bigint): string {
  return `${usdcText(units).replace(/0{1,4}$/, '')} USDC`;
}

/** What the message comes to, in rows of a name and its value. The values are read from the message, not from the listing. */
export function sayMessage(typed: TypedMessage, deal: Deal, nowMs: number): [name: string, value: string][] {
  const { from, to, value, validBefore } = typed.message;
  const untilMs = Number(validBefore) * 1_000;
  return [
    ['You pay', `${sayAmount(BigInt(value))} on ${NETWORKS[deal.network].displayName}`],
    ['To', `${to} (merchant ${markedText(deal.merchant)})`],
    ['From', from],
    ['For', `“${markedText(deal.title)}”, listing ${deal.id}`],
    ['Good until', `${sayClock(untilMs)}, ${sayDuration(Math.max(0, untilMs - nowMs))} from now`],
  ];
}

import { onTestFinished } from 'vitest';
import { createClient } from '../../src/sdk/client.ts';
import { type BuyByTransferOptions, buyByTransfer } from '../../src/sdk/payments/direct/buy-by-transfer.ts';
import { createMemoryTransferStore } from '../../src/sdk/payments/direct/transfer-store.ts';
import { createTestTime } from './buyer.ts';
import { createTransferWallet, type IntentFields, intentAnswer } from './intent-answers.ts';
import { deliveryAnswer, listingAnswer, paymentRecord, pendingAnswer } from './market-answers.ts';
import { officialAnswer } from './official-answer.ts';
import { type Reply, startScriptedMarket } from './scripted-market.ts';

export const delivered = deliveryAnswer(7);
export const pending = (seconds: number) => pendingAnswer({ retry: 'same_request', retry_after_seconds: seconds });

export interface TransferScript {
  claims?: Reply[];
  /** By default the market shows a new intent first and the same one later. */
  intents?: Reply[];
  lies?: Partial<IntentFields>;
  listing?: object;
  facts?: object;
  payment?: object;
  collected?: Reply;
  wallet?: ReturnType<typeof createTransferWallet>;
}

/** A buyer before a market that follows the script, the last answer of each kind for ever. */
export async function buyerBefore(script: TransferScript, options: Partial<BuyByTransferOptions> = {}) {
  const time = createTestTime();
  const wallet = script.wallet ?? createTransferWallet();
  const counts = { intents: 0, claims: 0 };
  const nth = (replies: Reply[], index: number): Reply => replies[Math.min(index, replies.length - 1)] ?? 'cut';
  const scripted = await startScriptedMarket(({ path }) => {
    if (path.startsWith('/api/listing/')) return listingAnswer(7, script.listing ?? {});
    if (path.startsWith('/api/official')) return officialAnswer(script.facts);
    if (path.startsWith('/api/payment')) {
      return { status: 200, body: { payment: { ...paymentRecord(), ...script.payment } } };
    }
    if (path.startsWith('/api/buy/')) return script.collected ?? 'cut';
    if (path.startsWith('/api/claim/')) return nth(script.claims ?? [delivered], counts.claims++);
    const status = counts.intents === 0 ? 201 : 200;
    const own = intentAnswer({ payer: wallet.address, nowMs: time.now(), status }, script.lies);
    return nth(script.intents ?? [own], counts.intents++);
  });
  onTestFinished(() => scripted[Symbol.asyncDispose]());
  const phases: string[] = [];
  const store = createMemoryTransferStore();
  const newClient = () => createClient({ baseUrl: scripted.baseUrl, key: 'k', environment: time });
  const client = newClient();
  const base: BuyByTransferOptions = {
    ...{ client, wallet, store, listingId: 7, maxPriceUsdc: 2.5 },
    onProgress: ({ phase }) => phases.push(phase),
  };
  const asked = (path: string) => scripted.seen.filter((request) => request.path.startsWith(path));
  const act = (more: Partial<BuyByTransferOptions> = {}) => buyByTransfer({ ...base, ...options, ...more });
  const storeKey = `${scripted.baseUrl} buy by transfer 7 ${wallet.address.toLowerCase()}`;
  return { act, time, wallet, phases, store, storeKey, asked, newClient, base };
}

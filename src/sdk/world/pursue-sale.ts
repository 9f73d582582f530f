import type { Hex } from 'viem';
import type { WorldReceipt } from '../../contract/world-records.ts';
import { MarketError } from '../market-error.ts';
import { mayPass } from '../payments/direct/wait-out.ts';
import { pauseSeconds } from '../payments/pause.ts';
import { DEFAULT_WAIT_SECONDS } from '../payments/take-turn.ts';
import { UnreadableAnswer } from '../unreadable-answer.ts';
import { ThingRefused, ThingUndecided } from './thing-errors.ts';
import type { BuyThingOptions } from './thing-options.ts';
import type { SavedThing } from './thing-store.ts';

/** Claims in the city until the thing has changed hands, then has the market look until it has recorded the sale. Pays nothing. */
export async function pursueSale(
  options: BuyThingOptions,
  saved: SavedThing,
  startedMs: number,
): Promise<WorldReceipt> {
  const hash = saved.tx_hash ?? '0x';
  const until = untilDone(options, saved, startedMs);
  await until(() => claim(options, saved, hash));
  options.onProgress?.({ phase: 'claimed', txHash: hash });
  const receipt = await until(() => sync(options, saved));
  options.onProgress?.({ phase: 'recorded', txHash: hash });
  return receipt;
}

type Asked<Done> = { done: Done } | { pauseSeconds: number };

async function claim(
  { city, signal, onProgress }: BuyThingOptions,
  saved: SavedThing,
  hash: Hex,
): Promise<Asked<true>> {
  const answer = await city.claimOffer({
    params: { id: saved.offer_id },
    body: { tx_hash: hash, payer_signature: saved.payer_signature },
    signal,
  });
  if (answer.status === 200) return { done: true };
  onProgress?.({ phase: 'pending', txHash: hash });
  return { pauseSeconds: answer.body.retry_after_seconds };
}

async function sync({ market, signal }: BuyThingOptions, saved: SavedThing): Promise<Asked<WorldReceipt>> {
  const { body } = await market.syncWorld({ params: { listing_id: saved.listing_id }, body: {}, signal });
  if (body.purchase !== undefined) {
    const { world_receipt: receipt } = body.purchase;
    if (receipt.tx_hash === saved.tx_hash) return { done: receipt };
    throw new ThingRefused('The market has recorded another sale of it', saved, {});
  }
  if (body.retry === 'never') throw new ThingRefused(`The market says ${body.status}: ${body.next_step}`, saved, {});
  return { pauseSeconds: body.retry_after_seconds ?? 2 };
}

/** Asks the same again until it is done, at the pace that the site asks for. */
function untilDone(options: BuyThingOptions, saved: SavedThing, startedMs: number) {
  const endMs = startedMs + (options.maxWaitSeconds ?? DEFAULT_WAIT_SECONDS) * 1_000;
  return async <Done>(ask: () => Promise<Asked<Done>>): Promise<Done> => {
    for (let failures = 0; ; ) {
      let pause: number;
      let error: unknown;
      try {
        const answer = await ask();
        if ('done' in answer) return answer.done;
        failures = 0;
        pause = pauseSeconds(answer.pauseSeconds, undefined, failures);
      } catch (caught) {
        mustPass(caught, saved);
        failures += 1;
        error = caught;
        pause = pauseSeconds(null, caught, failures);
      }
      await wait(options, saved, { seconds: pause, endMs, error });
    }
  };
}

/** Throws what the same request would only meet again. */
function mustPass(error: unknown, saved: SavedThing): void {
  if (error instanceof UnreadableAnswer) return;
  if (!(error instanceof MarketError)) throw error;
  if (!mayPass(error)) throw new ThingRefused(error.message, saved, { cause: error });
}

async function wait(
  { market: { environment }, signal }: BuyThingOptions,
  saved: SavedThing,
  { seconds, endMs, error }: { seconds: number; endMs: number; error: unknown },
): Promise<void> {
  if (environment.now() + seconds * 1_000 > endMs) throw new ThingUndecided('The wait is over', saved, error);
  try {
    await environment.sleep(seconds * 1_000, signal);
  } catch (cause) {
    throw new ThingUndecided('The wait was broken off', saved, cause);
  }
}

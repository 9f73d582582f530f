import { Refusal } from '../../../../platform/refusal.ts';

const MOST_BEHIND_SECONDS = 30n;

/**
 * Nothing is opened on a provider whose latest block stands still: a nonce that it calls unused may be used since. A chain that is ahead
 * of our clock hides nothing. 503 `chain_clock`, as for an intent (W8).
 */
export function mustMoveOn(clock: { now(): number }, latest: { timestamp: bigint }): void {
  const behind = BigInt(Math.floor(clock.now() / 1000)) - latest.timestamp;
  if (behind > MOST_BEHIND_SECONDS) throw new Refusal('chain_clock', { retryAfterSeconds: 5 });
}

import type { Progress } from '../sdk/payments/payment-run.ts';

/** How far a payment is, for a person who waits: the blocks that its finality still takes where the market tells, and the time. */
export function progressLine({ phase, secondsWaited, payment, estimateSeconds, reason }: Progress): string {
  const stage = payment?.stage ?? phase;
  const { block_number: block, finalized_head: head } = payment ?? {};
  const blocks =
    typeof block === 'number' && typeof head === 'number' && block > head ? `, ${block - head} blocks to go` : '';
  const left = estimateSeconds === undefined ? '' : `, about ${estimateSeconds} s left`;
  return `${stage}${blocks}${left} (${secondsWaited} s so far${reason === undefined ? '' : `; ${reason}`})`;
}

import type { Progress } from '../sdk/payments/payment-run.ts';
import type { Cli } from './cli.ts';

/** Notes for a person who waits: one whenever there is something new to say. */
export function progressNotes({ note }: Pick<Cli, 'note'>): (progress: Progress) => void {
  let last: string | null = null;
  return (progress) => {
    const line = progressLine(progress);
    if (line === null || line === last) return;
    last = line;
    note(line);
  };
}

/** How far a payment is: the blocks that its finality still takes where the market tells, and the time. Null: nothing to say. */
export function progressLine({ phase, payment, reason, estimateSeconds }: Progress): string | null {
  if (phase === 'signed') return 'signed, and the proof is kept: whatever stops this, the same command goes on';
  if (phase === 'collecting') return 'signing to show who asks; no money moves';
  if (phase === 'delivered') return null;
  const why = reason === undefined ? '' : ` (${reason})`;
  if (phase === 'submitted') return `handed in; no transfer is seen yet${why}`;
  const { block_number: block = null, finalized_head: head = null } = payment ?? {};
  const left = [
    ...(block === null || head === null ? [] : [blocksToGo(Math.max(0, block - head))]),
    ...(estimateSeconds === undefined ? [] : [`about ${sayDuration(estimateSeconds)}`]),
  ];
  return `the transfer is seen; waiting until it is final${left.length === 0 ? '' : `: ${left.join(', ')}`}${why}`;
}

function sayDuration(seconds: number): string {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}

function blocksToGo(blocks: number): string {
  return blocks === 1 ? '1 block to go' : `${blocks} blocks to go`;
}

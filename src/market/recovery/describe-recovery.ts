import { printableLine } from '../../platform/printable.ts';
import type { BlockAt } from './read-chain.ts';
import type { Recovered } from './recover.ts';

export type RecoveryOutput = Recovered & { from_time?: { asked: string; block_number: number; block_time: string } };

export function withBlockOfTime(recovered: Recovered, asked: Date, { number, time }: BlockAt): RecoveryOutput {
  const from_time = { asked: asked.toISOString(), block_number: Number(number), block_time: time.toISOString() };
  return { ...recovered, from_time };
}

/** Describes the recovery for a person: counts, then a line for each sale and comment, because someone must be told about each. */
export function describeRecovery(output: RecoveryOutput): string {
  const { window, kept_event_id: kept, next_event_id: next, from_time: fromTime } = output;
  return [
    `Recovered. The log was kept up to event ${kept} and goes on with event ${next}.`,
    ...(fromTime === undefined
      ? []
      : [`Block ${fromTime.block_number} of ${fromTime.block_time} is the first at or after ${fromTime.asked}.`]),
    ...linesOfLost(output),
    `Payments of blocks ${window.from_block} to ${window.to_block} that the books lack are taken back in when their buyers show them.\n`,
  ].join('\n');
}

function linesOfLost({ lost, copies, lost_sales: sales, lost_comments: comments }: Recovered): string[] {
  if (copies === 'none') return ['No copy of the log tells what was lost.'];
  const counts = Object.entries(lost).map(([what, count]) => `${count} ${what}`);
  return [
    `Lost, as far as the copies tell: ${counts.join(', ')}.`,
    ...sales.map(({ at, listing_id, paid_usdc, verified_via, tx_hash }) => {
      const paid = tx_hash === null ? '' : `, transaction ${tx_hash}`;
      return `sale of listing ${listing_id} at ${at}: ${paid_usdc} USDC (${verified_via})${paid}`;
    }),
    ...comments.map(
      ({ at, comment_id, listing_id, author }) =>
        `comment ${comment_id} on listing ${listing_id} at ${at} by ${printableLine(author)}`,
    ),
  ];
}

import type { GoodsOutcome } from './measure-goods.ts';

export function reportText({ megabytes, rows }: GoodsOutcome): string {
  const lines = rows.flatMap(({ kind, speeds, ratio, ratios }) => [
    `${kind}: ${ratio.toFixed(2)} of the plain server with PostgreSQL (rounds ${ratios.map((one) => one.toFixed(2)).join(', ')})`,
    `  ${Object.entries(speeds)
      .map(([server, speed]) => `${server} ${speed.toFixed(0)} MB/s`)
      .join('; ')}`,
  ]);
  return `Files of ${megabytes} MB\n${lines.join('\n')}\n`;
}

import type { BrowseOutcome } from './measure-browse.ts';

export function reportText(outcomes: readonly BrowseOutcome[]): string {
  const lines = outcomes.flatMap(
    ({ era, gzip, httpPerSecond, mcpPerSecond, ratio, rounds, calls, httpBytes, mcpBytes }) => [
      `${era} revision${gzip ? ', gzip' : ''}: ${ratio.toFixed(2)} of the route's requests/s (rounds ${rounds.map((one) => one.toFixed(2)).join(', ')}; ${calls} calls)`,
      `  tool ${mcpPerSecond.toFixed(0)}/s of ${mcpBytes.toFixed(0)} bytes, route ${httpPerSecond.toFixed(0)}/s of ${httpBytes.toFixed(0)} bytes`,
    ],
  );
  return `browse, 16 in flight, pages of 50 by aisle and order\n${lines.join('\n')}\n`;
}

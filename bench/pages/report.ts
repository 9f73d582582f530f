import type { PagesOutcome } from './measure-pages.ts';

export function reportText({ listings, pinned, rows }: PagesOutcome): string {
  const lines = rows.flatMap(({ kind, perSecond, staticPerSecond, ratio, ratios, cpuMicros, bytes, clientShares }) => [
    `${kind}: ${ratio.toFixed(2)} of the static server's requests/s (rounds ${ratios.map((one) => one.toFixed(2)).join(', ')})`,
    `  market ${perSecond.toFixed(0)}/s, static ${staticPerSecond.toFixed(0)}/s; ${(bytes / 1_000).toFixed(1)} kB; ${cpuMicros === null ? '-' : cpuMicros.toFixed(0)} us of computing a page; client ${clientShares.map((share) => `${(share * 100).toFixed(0)} %`).join(' / ')}`,
  ]);
  const cores = pinned ? 'server and client on a core each' : 'no process is bound to a core';
  return `GET /listing/:id as browsers ask for it, ${listings} listings, ${cores}\n${lines.join('\n')}\n`;
}

import type { StreamOutcome } from './measure-stream.ts';
import type { Times } from './time-requests.ts';
import type { WatchedWindow } from './watch-window.ts';

export function reportText(outcome: StreamOutcome): string {
  const { clients, events, rate, seconds, faults, kbPerClient, rssMb, marketShare, others, window } = outcome;
  const heard = faults.length === 0 ? 'each heard every event once and in order' : `faults:\n  ${faults.join('\n  ')}`;
  return `${[
    `${clients} clients, ${events} events at ${rate}/s for ${seconds} s: ${heard}`,
    `memory per client: ${kbPerClient.idle.toFixed(1)} KB when all had come, ${kbPerClient.after.toFixed(1)} KB after the last event`,
    `  market ${rssMb.before.toFixed(0)} MB before, ${rssMb.idle.toFixed(0)} MB with all, ${rssMb.after.toFixed(0)} MB at the end`,
    `market: ${(marketShare * 100).toFixed(0)} % of a core while events came`,
    `GET /api/shelves meanwhile: ${timesText(others.withListeners)}`,
    `  without any listeners:    ${timesText(others.alone)}`,
    ...(window === null ? [] : [windowText(window)]),
  ].join('\n')}\n`;
}

function timesText({ requests, p50Ms, p99Ms, longestMs }: Times): string {
  return `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, longest ${longestMs.toFixed(1)} ms (${requests} requests)`;
}

function windowText({ rows, heard, newest, share, longestTaskMs, nodes }: WatchedWindow): string {
  return `the window in a browser: ${heard} events, ${rows} rows down from ${newest}; ${(share * 100).toFixed(0)} % of a core, longest task ${longestTaskMs.toFixed(0)} ms, ${nodes} nodes`;
}

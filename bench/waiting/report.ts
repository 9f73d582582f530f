import type { Waiting } from './measure-waiting.ts';
import { row, windowRow } from './window-row.ts';

export function reportText({ options, windows, alone, underLoad, ends, delivered, asksPerSecond }: Waiting): string {
  const states = Object.entries(ends).map(([state, count]) => `${count} ${state}`);
  return `${[
    `${options.workers} processes, ${options.payments} payments, ${options.transactions} transactions a block; of all processes together`,
    row('', [
      'seconds',
      'requests',
      'per 10 s',
      'per block',
      'calls/block',
      'KB/block',
      'pass, ms',
      'longest',
      'facilitator',
    ]),
    ...windows.map(windowRow),
    '',
    ...windows.map(({ name, market }) => `${name}: ${methodsText(market.callsByMethod)}`),
    '',
    `first answer of a purchase, from half a beat before a block: ${alone.ms.toFixed(0)} ms alone, ${underLoad.ms.toFixed(0)} ms with them`,
    `  after its block: ${alone.afterBlockMs.toFixed(0)} ms alone, ${underLoad.afterBlockMs.toFixed(0)} ms with them`,
    `buyers that wait: ${asksPerSecond.toFixed(1)} requests/s while none is final; at the end ${states.join(', ')}; ${delivered} have their goods`,
  ].join('\n')}\n`;
}

function methodsText(calls: Readonly<Record<string, number>>): string {
  const made = Object.entries(calls).filter(([, count]) => count > 0);
  return made.map(([method, count]) => `${method} ${count}`).join(', ') || 'nothing';
}

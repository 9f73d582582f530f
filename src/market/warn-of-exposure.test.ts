import { describe, expect, it } from 'vitest';
import { createLog } from '../platform/log.ts';
import { warnOfExposure } from './prepare-database.ts';

const LOCAL = { baseUrl: 'http://127.0.0.1:4020', trustProxy: false, host: '127.0.0.1', metricsPort: 0 } as const;

function said(changed: Partial<Parameters<typeof warnOfExposure>[0]>): string[] {
  const lines: string[] = [];
  warnOfExposure({ ...LOCAL, ...changed }, createLog({ stream: { write: (line) => void lines.push(line) } }));
  return lines.map((line) => (JSON.parse(line) as { event: string }).event);
}

describe('at the start', () => {
  it('warns of a public address without a trusted proxy', () => {
    expect(said({ baseUrl: 'https://market.example' })).toEqual(['public_without_trusted_proxy']);
    expect(said({ baseUrl: 'https://market.example', trustProxy: ['loopback'] })).toEqual([]);
    for (const baseUrl of ['http://localhost:4020', 'http://[::1]:4020', 'http://127.3.2.1']) {
      expect(said({ baseUrl })).toEqual([]);
    }
  });

  it('warns of metrics that strangers can reach', () => {
    for (const host of ['0.0.0.0', '::', '203.0.113.1'])
      expect(said({ host, metricsPort: 9_100 })).toEqual(['metrics_reachable']);
    for (const host of ['127.0.0.1', '::1', 'localhost']) expect(said({ host, metricsPort: 9_100 })).toEqual([]);
    expect(said({ host: '0.0.0.0' })).toEqual([]);
  });
});

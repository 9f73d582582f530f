import type { Log } from '../../platform/log.ts';
import { serveText } from '../../platform/serve-text.ts';
import type { MarketConfig } from '../context.ts';
import type { MetricsText } from './create-metrics.ts';

/** Opens the metrics port, if one is configured; else nothing is made. */
export async function serveMetrics(
  { host, metricsPort }: Pick<MarketConfig, 'host' | 'metricsPort'>,
  make: () => { text(): Promise<MetricsText> },
  log: Log,
): Promise<{ close(): Promise<void> }> {
  if (metricsPort === 0) return { close: async () => {} };
  const metrics = make();
  const server = await serveText({ host, port: metricsPort, path: '/metrics', read: () => metrics.text(), log });
  log.info('metrics_listening', { host, port: server.port });
  return server;
}

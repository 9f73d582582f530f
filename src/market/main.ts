import { systemClock } from '../platform/clock.ts';
import { ConfigError } from '../platform/config.ts';
import { createLog } from '../platform/create-log.ts';
import { handleShutdown } from '../platform/shutdown.ts';
import { readMarketConfig } from './config.ts';
import type { MarketConfig } from './context.ts';
import { CRASH_VARIABLE, crashAt, readCrashPoint } from './crash-points.ts';
import { holdSignals } from './hold-signals.ts';
import { runMarket } from './run-market.ts';

/** Two calls to the facilitator, 8 s each, and a margin. */
const DRAIN_MS = 25_000;

async function main(): Promise<void> {
  const config = readMarketConfig(process.env);
  const crashPoint = readCrashPoint(process.env);
  const log = createLog({ hide: secretsOf(config) });
  if (crashPoint !== null) {
    log.warn('THIS_PROCESS_KILLS_ITSELF', { name: crashPoint, detail: `${CRASH_VARIABLE} is set: for tests only` });
  }
  const crash = crashPoint === null ? {} : { crashPoint: crashAt(crashPoint) };
  const signals = holdSignals();
  const market = await runMarket({ config, log, ...crash }).catch((error: unknown) => {
    log.error('market_not_started', { error });
    process.exit(1);
  });
  const shutdown = handleShutdown({
    process,
    clock: systemClock,
    log,
    drainMs: DRAIN_MS,
    closeServer: (options) => market.stopServing(options),
    steps: market.steps,
  });
  const early = signals.release();
  if (early !== null) process.exit(await shutdown.stop(early));
  void market.databaseEnded.then(() => {
    if (shutdown.isStopping()) return;
    log.error('database_ended', { detail: 'the embedded PostgreSQL ended by itself; the market cannot go on' });
    process.exit(1);
  });
  log.info('market_listening', { url: market.url, port: market.port, network: config.network.name });
}

/** An address may carry a password or a provider's key. */
function secretsOf(config: MarketConfig): string[] {
  const { databaseUrl, rpcUrl, facilitatorUrl, facilitatorAuth } = config;
  return [databaseUrl, rpcUrl, facilitatorUrl, facilitatorAuth].filter((secret) => secret !== null);
}

main().catch((error: unknown) => {
  // A fault of the configuration names the variables and never a value; its stack would only be in the way.
  console.error(error instanceof ConfigError ? error.message : error);
  process.exitCode = 1;
});

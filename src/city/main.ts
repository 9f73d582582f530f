import { systemClock } from '../platform/clock.ts';
import { ConfigError } from '../platform/config.ts';
import { createLog } from '../platform/create-log.ts';
import { holdSignals } from '../platform/hold-signals.ts';
import { runCommand } from '../platform/run-command.ts';
import { handleShutdown } from '../platform/shutdown.ts';
import { readCityConfig } from './config.ts';
import type { CityConfig } from './context.ts';
import { runCityCommand } from './recover-command.ts';
import { serveCity } from './serve-city.ts';

const DRAIN_MS = 20_000;

async function main(): Promise<void> {
  const config = readCityConfig(process.env);
  const log = createLog({ hide: secretsOf(config), fields: ['offer_id', 'thing_id', 'code'] });
  const signals = holdSignals();
  const city = await serveCity(config, log).catch((error: unknown) => {
    log.error('city_not_started', { error });
    process.exit(1);
  });
  const shutdown = handleShutdown({
    process,
    clock: systemClock,
    log,
    drainMs: DRAIN_MS,
    closeServer: (options) => city.stopServing(options),
    steps: city.steps,
  });
  const early = signals.release();
  if (early !== null) process.exit(await shutdown.stop(early));
  void city.databaseEnded.then(() => {
    if (shutdown.isStopping()) return;
    log.error('database_ended', { detail: 'the embedded PostgreSQL ended by itself; the city cannot go on' });
    process.exit(1);
  });
}

/** An address may carry a password or a provider's key. */
function secretsOf({ databaseUrl, rpcUrls }: CityConfig): string[] {
  return [databaseUrl, ...rpcUrls].filter((secret) => secret !== null);
}

const args = process.argv.slice(2);
if (args.length > 0) await runCommand(() => runCityCommand(args));
else {
  await main().catch((error: unknown) => {
    // A fault of the configuration names the variables and never a value; its stack would only be in the way.
    console.error(error instanceof ConfigError ? error.message : error);
    process.exitCode = 1;
  });
}
